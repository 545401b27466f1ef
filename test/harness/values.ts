import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The SHA-256 of the first bytes of a file, or of the whole file, read through the page cache; in hexadecimal. */
export function hashOf(path: string, maxBytes = Infinity): string {
  return hash('sha256', readFileSync(path).subarray(0, maxBytes));
}

/**
 * The SHA-256 of a file's data and of the places of its holes, which are not read: fast enough to finish before the kernel
 * writes back its memory (half a minute).
 */
export function hashData(path: string): string {
  const options = ['--create', '--sparse', '--hole-detection=seek', '--mtime=@0', '--absolute-names'];
  const archive = execFileSync('tar', [...options, '--', path], {
    maxBuffer: 2 ** 30,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return hash('sha256', archive);
}

/** The upper median of numbers, NaN without any. */
export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}
