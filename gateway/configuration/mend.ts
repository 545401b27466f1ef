import type { z } from 'zod';

/** What a file of settings says, before it is checked. */
export type Data = Readonly<Record<string, unknown>>;

/**
 * What the file says with each part that is at fault as it was in `last`, or left out where it was not there: an entry of
 * one cluster alone, everything else whole. So the rest takes effect, and above all what was removed.
 */
export function withoutFaults<File>(
  parse: (data: Data) => z.ZodSafeParseResult<File>,
  data: Data,
  last: Data,
): { readonly file: File; readonly data: Data } | undefined {
  const parsed = parse(data);
  if (parsed.success) return { file: parsed.data, data };
  const parts = faultyParts(parsed.error);
  let mended = data;
  for (const [part, name] of parts)
    mended =
      name === undefined
        ? restore(mended, part, last)
        : { ...mended, [part]: restore(mended[part] as Data, name, last[part] as Data | undefined) };
  // Each round leaves less that is not in `last`, or leaves out more.
  return parts.length > 0 ? withoutFaults(parse, mended, last) : undefined;
}

type Part = readonly [part: string, cluster?: string];

/** Each part that is at fault, once. None: it is the whole. */
function faultyParts({ issues }: z.ZodError): readonly Part[] {
  const paths = issues.flatMap(issue =>
    issue.code === 'unrecognized_keys' ? issue.keys.map(key => [...issue.path, key]) : [issue.path],
  );
  const parts = paths
    .filter(path => path.length > 0)
    .map(([part, name]): Part =>
      part === 'clusters' && name !== undefined ? [part, String(name)] : [String(part)],
    );
  return [...new Map(parts.map(part => [part.join('\n'), part])).values()];
}

/** The value as it was before, or without it when it was not there or is that already. */
function restore(data: Data, key: string, last: Data = {}): Data {
  const { [key]: bad, ...others } = data;
  return key in last && bad !== last[key] ? { ...others, [key]: last[key] } : others;
}
