import { z } from 'zod';
import { maxIdBytes } from './ids.ts';

const encoder = new TextEncoder();
/** Most bytes of a map's keys and values together (CSI spec, "Size Limits"). */
const maxMapBytes = 4_096;

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
  .refine(
    map => Object.entries(map).reduce((sum, [k, v]) => sum + byteLength(k) + byteLength(v), 0) <= maxMapBytes,
    `must have at most ${maxMapBytes} bytes`,
  );

function byteLength(text: string): number {
  return encoder.encode(text).length;
}
