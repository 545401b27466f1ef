import { z } from 'zod';
import { maxIdBytes } from './ids.ts';
import { hasDistinctKeys, segmentKeyPattern, segmentValuePattern } from './topology.ts';

const encoder = new TextEncoder();
/** Most bytes of a map's keys and values together (CSI spec, "Size Limits"). */
const maxMapBytes = 4_096;
/** Most terms of a requirement: a cluster may name each of its nodes. */
const maxTerms = 8_192;

/** The name that a caller chose for something. */
export const name = z
  .string()
  .min(1)
  .refine(value => byteLength(value) <= maxIdBytes, `must have at most ${maxIdBytes} bytes`);

/** A number of bytes. */
export const sizeBytes = z.int().nonnegative();

/** Text by key, of at most 4096 bytes. */
export const stringMap = z
  .record(z.string(), z.string())
  .refine(isSmallEnough, `must have at most ${maxMapBytes} bytes`);

/** Where something is, or where it is reached from. */
export const segmentsSchema = z
  .record(z.string().regex(segmentKeyPattern), z.string().regex(segmentValuePattern))
  .refine(isSmallEnough, `must have at most ${maxMapBytes} bytes`)
  .refine(hasDistinctKeys, 'has keys that differ in case alone');

/** Where something new must be reached from. */
export const topologyRequirementSchema = z.strictObject({
  requisite: z
    .array(segmentsSchema)
    .max(maxTerms)
    .optional()
    .describe('It must be reached from at least one of these.'),
  preferred: z
    .array(segmentsSchema)
    .max(maxTerms)
    .optional()
    .describe('Tried first, in this order; where `requisite` is given, of its terms.'),
});

function isSmallEnough(map: Readonly<Record<string, string>>): boolean {
  return (
    Object.entries(map).reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(value), 0) <=
    maxMapBytes
  );
}

function byteLength(text: string): number {
  return encoder.encode(text).length;
}

export type TopologyRequirement = z.infer<typeof topologyRequirementSchema>;
