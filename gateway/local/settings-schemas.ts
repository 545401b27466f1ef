import * as z from 'zod';
import { absolutePath, bytes } from '../../src/lib/parsers.ts';

/** Makes a schema of a parser for text; the parser's error becomes the reported fault. */
export function parsedText<T>(parse: (text: string) => T) {
  return z.string().transform((text, context): T => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
      return z.NEVER;
    }
  });
}

type Shape = Readonly<Record<string, z.ZodType>>;

/**
 * Finds the faults that an object of any kind has: members that no kind has, and values that every kind with
 * the member refuses.
 */
export function faultsOfEachKind(
  entry: Readonly<Record<string, unknown>>,
  kinds: readonly z.ZodType[],
): readonly z.core.$ZodIssue[] {
  const shapes = kinds.map(kind => new Map(Object.entries((kind as { readonly shape?: Shape }).shape ?? {})));
  return Object.entries(entry).flatMap(([key, value]) => {
    const schemas = shapes.flatMap(shape => shape.get(key) ?? []);
    if (schemas.length === 0)
      return [{ code: 'unrecognized_keys' as const, keys: [key], path: [], message: '' }];
    const tried = schemas.map(schema => schema.safeParse(value));
    if (tried.some(({ success }) => success)) return [];
    return (tried[0]?.error?.issues ?? []).map(issue => Object.assign(issue, { path: [key, ...issue.path] }));
  });
}

/** A number of bytes, or text such as 512Mi or 10Gi. */
export const byteCount = z.union([z.int().nonnegative(), parsedText(bytes)], {
  error: ({ input }) => `${JSON.stringify(input)} is not a number of bytes such as 4096, 512Mi or 10Gi`,
});

export const absoluteDirectory = parsedText(absolutePath);
