/** Where something is, or where it is reached from: topological segments by key (CSI spec, "Topology"). */
export type Segments = Readonly<Record<string, string>>;

const namePattern = '[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?';
const labelPattern = '[a-z0-9]([a-z0-9-]*[a-z0-9])?';

/** A key: a name of at most 63 characters, which may have a domain name of at most 63 and a slash in front. */
export const segmentKeyPattern = new RegExp(
  `^(?=[^/]*$|[^/]{1,63}/)(${labelPattern}(\\.${labelPattern})*/)?${namePattern}$`,
);

/** A value; one that is empty says nothing. */
export const segmentValuePattern = new RegExp(`^(${namePattern})?$`);

/** True when no two keys differ in case alone: CSI does not distinguish such keys. */
export function hasDistinctKeys(segments: Segments): boolean {
  return byLowerKey(segments).size === Object.keys(segments).length;
}

/** The segments that say something. */
export function withoutEmpty(segments: Segments): Segments {
  return Object.fromEntries(Object.entries(segments).filter(([, value]) => value !== ''));
}

/** True when what has this topology is reached from there: all its segments are there, with the same values. */
export function isReachable(topology: Segments, from: Segments): boolean {
  const there = byLowerKey(from);
  return Object.entries(topology).every(([key, value]) => there.get(key.toLowerCase()) === value);
}

/** True when both have a key in common, and the same value for each key that they have in common. */
export function meetsTerm(topology: Segments, term: Segments): boolean {
  const shared = Object.entries(topology)
    .map(([key, value]) => [value, valueOf(term, key)])
    .filter(([, wanted]) => wanted !== undefined);
  return shared.length > 0 && shared.every(([value, wanted]) => value === wanted);
}

/** The segments for people: `zone=a,rack=r1`. */
export function formatSegments(segments: Segments): string {
  return Object.entries(segments)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** Reads `zone=a,rack=r1`: at least one segment, none without a value. */
export function parseSegments(text: string): Segments {
  const parts = text.split(',').map(part => part.trim());
  const segments = Object.fromEntries(
    parts.map(part => {
      const [key = '', value = '', ...more] = part.split('=');
      const isSegment = segmentKeyPattern.test(key) && value !== '' && segmentValuePattern.test(value);
      if (!isSegment || more.length > 0) throw new Error(`"${part}" is no topology key with its value`);
      return [key, value];
    }),
  );
  if (byLowerKey(segments).size < parts.length) throw new Error('has a key twice');
  return segments;
}

/** The value for the key, however that is spelled; looked up thousands of times. */
function valueOf(segments: Segments, key: string): string | undefined {
  if (Object.hasOwn(segments, key)) return segments[key];
  const lower = key.toLowerCase();
  for (const other in segments) if (other.toLowerCase() === lower) return segments[other];
  return undefined;
}

function byLowerKey(segments: Segments): ReadonlyMap<string, string> {
  return new Map(Object.entries(segments).map(([key, value]) => [key.toLowerCase(), value]));
}
