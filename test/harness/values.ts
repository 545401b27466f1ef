import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The SHA-256 of the first bytes of a file, or of the whole file, read through the page cache; in hexadecimal. */
export function hashOf(path: string, maxBytes = Infinity): string {
  return hash('sha256', readFileSync(path).subarray(0, maxBytes));
}

/** The upper median of numbers, NaN without any. */
export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}
