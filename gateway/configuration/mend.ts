import * as z from 'zod';

/** The data of a settings file before it is checked. */
export type Data = Readonly<Record<string, unknown>>;

/** Returns the entries of the pools, none if the file has no valid object of pools. */
export function writtenPoolsOf(data: Data | undefined): Data {
  const pools = data?.['pools'];
  return z.util.isPlainObject(pools) ? pools : {};
}

/**
 * Replaces each faulty part by its state in `last`, or leaves it out if it was not there. A part is one
 * cluster's entry, or any other member of the file. So the sound parts take effect, removals above all.
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
  // Each round removes parts that are not in `last`, so that the rounds end. A fault without a path concerns
  // the whole file.
  const mended = faulty.reduce((all, part) => restore(all, part, { data, last }), data);
  return faulty.length > 0 ? withoutFaults(parse, mended, last) : undefined;
}

type DataPair = { readonly data: Data | undefined; readonly last: Data | undefined };

/** Restores the part from `last`, or leaves it out when `last` does not have it, or `data` already has that state. */
function restore(
  all: Data,
  [key = '', ...inner]: readonly string[],
  { data = {}, last = {} }: DataPair,
): Data {
  const { [key]: part, ...others } = all;
  const before = last[key] as Data | undefined;
  if (inner.length > 0)
    return { ...others, [key]: restore(part as Data, inner, { data: data[key] as Data, last: before }) };
  return key in last && data[key] !== before ? { ...others, [key]: before } : others;
}
