/** The location of an object, or of its users: topological segments by key (CSI spec, "Topology"). */
export type Segments = Readonly<Record<string, string>>;

const namePattern = '[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?';
const labelPattern = '[a-z0-9]([a-z0-9-]*[a-z0-9])?';

/** A key: a name of at most 63 characters, optionally after a domain name of at most 63 characters and a slash. */
export const segmentKeyPattern = new RegExp(
  `^(?=[^/]*$|[^/]{1,63}/)(${labelPattern}(\\.${labelPattern})*/)?${namePattern}$`,
);

/** A value, which may be empty. */
export const segmentValuePattern = new RegExp(`^(${namePattern})?$`);

/** True if no two keys differ only in case, since CSI compares keys without case. */
export function hasDistinctKeys(segments: Segments): boolean {
  return byLowerKey(segments).size === Object.keys(segments).length;
}

export function withoutEmpty(segments: Segments): Segments {
  return Object.fromEntries(Object.entries(segments).filter(([, value]) => value !== ''));
}

/** True if an object with this topology is reachable from there: all its segments occur there with the same values. */
export function isReachable(topology: Segments, from: Segments): boolean {
  const there = byLowerKey(from);
  return Object.entries(topology).every(([key, value]) => there.get(key.toLowerCase()) === value);
}

/** True if both have at least one key in common, and equal values for all common keys. */
export function meetsTerm(topology: Segments, term: Segments): boolean {
  const shared = Object.entries(topology)
    .map(([key, value]) => [value, valueOf(term, key)])
    .filter(([, wanted]) => wanted !== undefined);
  return shared.length > 0 && shared.every(([value, wanted]) => value === wanted);
}

/** Formats segments as `zone=a,rack=r1`. */
export function formatSegments(segments: Segments): string {
  return Object.entries(segments)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** Parses `zone=a,rack=r1`: at least one segment, each with a value. */
export function parseSegments(text: string): Segments {
  const parts = text.split(',').map(part => part.trim());
  const segments = Object.fromEntries(
    parts.map(part => {
      const [key = '', value = '', ...more] = part.split('=');
      const isSegment = segmentKeyPattern.test(key) && value !== '' && segmentValuePattern.test(value);
      if (!isSegment || more.length > 0)
        throw new Error(`"${part}" is not a topology key with a value, such as zone=a`);
      return [key, value];
    }),
  );
  if (byLowerKey(segments).size < parts.length) throw new Error('has a key twice');
  return segments;
}

/** Returns the value of a key, compared without case. Fast, since it is called thousands of times. */
function valueOf(segments: Segments, key: string): string | undefined {
  if (Object.hasOwn(segments, key)) return segments[key];
  const lower = key.toLowerCase();
  for (const other in segments) if (other.toLowerCase() === lower) return segments[other];
  return undefined;
}

function byLowerKey(segments: Segments): ReadonlyMap<string, string> {
  return new Map(Object.entries(segments).map(([key, value]) => [key.toLowerCase(), value]));
}
