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
  const faulty = parsed.error.issues
    .flatMap(({ path, ...issue }) =>
      issue.code === 'unrecognized_keys' ? issue.keys.map(key => [...path, key]) : [path],
    )
    .filter(path => path.length > 0)
    .map(path => path.slice(0, path[0] === 'clusters' ? 2 : 1).map(String));
  // Each round leaves less that is not in `last`, or leaves out more; none: it is the whole.
  const mended = faulty.reduce((all, part) => restore(all, part, { data, last }), data);
  return faulty.length > 0 ? withoutFaults(parse, mended, last) : undefined;
}

type Sides = { readonly data: Data | undefined; readonly last: Data | undefined };

/** With the part as it was before, or without it when it was not there or `data` has it so already. */
function restore(all: Data, [key = '', ...inner]: readonly string[], { data = {}, last = {} }: Sides): Data {
  const { [key]: part, ...others } = all;
  const before = last[key] as Data | undefined;
  if (inner.length > 0)
    return { ...others, [key]: restore(part as Data, inner, { data: data[key] as Data, last: before }) };
  return key in last && data[key] !== before ? { ...others, [key]: before } : others;
}
