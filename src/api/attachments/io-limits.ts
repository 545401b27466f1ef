import * as z from 'zod';
import { bytes } from '../../lib/numbers.ts';

/** The mutable parameters of limits, with their smallest value and their doc. */
const parameters = {
  iops: {
    min: 10,
    doc: 'Maximum reads each second, and as many writes, of each pod or virtual machine; 0: no maximum.',
  },
  bytesPerSecond: {
    min: 65_536,
    doc: 'Maximum bytes read each second, and as many written, of each pod or virtual machine, such as 50Mi; 0: no maximum.',
  },
} as const;

export type IoLimitName = keyof typeof parameters;

/** The maximum of a node's reads on a volume each second, and likewise of its writes. Absent: no maximum. */
export type IoLimits = { readonly [Name in IoLimitName]?: number | undefined };

export const ioLimitNames = Object.keys(parameters) as readonly IoLimitName[];

/** Makes the schema of a mutable parameter: a number, or text such as 50Mi. */
export function ioLimitSchema(name: IoLimitName) {
  const { min, doc } = parameters[name];
  const isLimit = (text: string): boolean => readLimit(text, min) !== undefined;
  return z
    .string()
    .refine(isLimit, { error: `is neither 0 nor a number of at least ${min}` })
    .describe(doc)
    .exactOptional();
}

/** Reads the limits among a volume's mutable parameters. */
export function ioLimitsOf(given: Readonly<Record<string, string>>): IoLimits {
  const entries = ioLimitNames.map(name => [name, readLimit(given[name], parameters[name].min)] as const);
  return Object.fromEntries(entries.filter(([, limit]) => limit));
}

/** Reads a limit; undefined for a text that is none, such as a value that only the storage understands. */
function readLimit(text: string | undefined, min: number): number | undefined {
  if (text === undefined || !/^\d/.test(text)) return undefined;
  try {
    const limit = bytes(text);
    return limit === 0 || limit >= min ? limit : undefined;
  } catch {
    return undefined;
  }
}
