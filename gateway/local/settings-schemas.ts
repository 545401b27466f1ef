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

/** A number of bytes, or text such as 512Mi or 10Gi. */
export const byteCount = z.union([z.int().nonnegative(), parsedText(bytes)], {
  error: ({ input }) => `${JSON.stringify(input)} is not a number of bytes such as 4096, 512Mi or 10Gi`,
});

/** An absolute path in normalized form. */
export const absoluteDirectory = parsedText(absolutePath);
