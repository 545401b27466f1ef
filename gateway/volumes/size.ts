import { invalidProblem, Problem } from '../../src/api/problem.ts';
import type { SizeBounds, VolumeSizes } from '../backend.ts';

/** Bounds of a size in bytes; 0 or absent is no bound. */
type Range = { readonly requiredBytes?: number | undefined; readonly limitBytes?: number | undefined };

/** INVALID_ARGUMENT when no size can lie between the two bounds. */
export function requireRange({ requiredBytes = 0, limitBytes = 0 }: Range): void {
  if (limitBytes > 0 && requiredBytes > limitBytes)
    throw invalidProblem(`requiredBytes of ${requiredBytes} is more than limitBytes of ${limitBytes}`);
}

/** True when a size lies within the bounds; no volume has 0 bytes. */
export function isWithin(sizeBytes: number, { requiredBytes = 0, limitBytes = 0 }: Range): boolean {
  const isBelow = limitBytes === 0 || sizeBytes <= limitBytes;
  return Number.isSafeInteger(sizeBytes) && sizeBytes >= Math.max(requiredBytes, 1) && isBelow;
}

/**
 * The size to ask the backend for, and to reserve: the least within what is asked and what the backend can make, or
 * where the gateway does not know its sizes the least that is asked. OUT_OF_RANGE when there is none.
 */
export function chooseSize(
  { requiredBytes, limitBytes }: SizeBounds,
  sizes: VolumeSizes | undefined,
): number {
  if (!sizes) return requiredBytes;
  const { minimumBytes, maximumBytes = Number.MAX_SAFE_INTEGER, stepBytes, defaultBytes } = sizes;
  const limit = Math.min(limitBytes || maximumBytes, maximumBytes);
  const least = requiredBytes || Math.min(defaultBytes, Math.floor(limit / stepBytes) * stepBytes);
  const size = Math.ceil(Math.max(least, minimumBytes) / stepBytes) * stepBytes;
  if (size <= limit) return size;
  const bounds = `from ${requiredBytes} to ${limitBytes || 'any number of'} bytes`;
  throw new Problem(
    'OUT_OF_RANGE',
    `no size ${bounds} is possible: volumes have ${minimumBytes} to ${maximumBytes} bytes, in steps of ${stepBytes}`,
  );
}
