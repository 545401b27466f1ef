import { invalidProblem, Problem } from '../../src/api/problem.ts';
import type { SizeBounds, VolumeSizes } from '../backend.ts';

/** Bounds of a size in bytes. 0 or absent is no bound. */
type Range = { readonly requiredBytes?: number | undefined; readonly limitBytes?: number | undefined };

/** Throws INVALID_ARGUMENT when no size is between the bounds. */
export function requireRange({ requiredBytes = 0, limitBytes = 0 }: Range): void {
  if (limitBytes > 0 && requiredBytes > limitBytes)
    throw invalidProblem(`requiredBytes of ${requiredBytes} is more than limitBytes of ${limitBytes}`);
}

/** Returns true when the size is within the bounds. No volume has 0 bytes. */
export function isWithin(sizeBytes: number, { requiredBytes = 0, limitBytes = 0 }: Range): boolean {
  const isBelow = limitBytes === 0 || sizeBytes <= limitBytes;
  return Number.isSafeInteger(sizeBytes) && sizeBytes >= Math.max(requiredBytes, 1) && isBelow;
}

/**
 * Chooses the size to request from the backend and to reserve: the smallest size that the request, the
 * backend and the volume's use allow. If the gateway does not know the backend's sizes, it is the smallest
 * requested size. OUT_OF_RANGE when there is none.
 */
export function chooseSize(
  { requiredBytes, limitBytes }: SizeBounds,
  sizes: VolumeSizes | undefined,
  neededBytes = 0,
): number {
  if (!sizes) {
    if (limitBytes > 0 && limitBytes < neededBytes)
      throw new Problem(
        'OUT_OF_RANGE',
        `a volume for this use needs at least ${neededBytes} bytes, more than the limit of ${limitBytes}`,
      );
    return requiredBytes > 0 ? Math.max(requiredBytes, neededBytes) : 0;
  }
  const { maximumBytes = Number.MAX_SAFE_INTEGER, stepBytes, defaultBytes } = sizes;
  const minimumBytes = minSizeOf(sizes, neededBytes);
  const limit = Math.min(limitBytes || maximumBytes, maximumBytes);
  const minWanted = requiredBytes || Math.min(defaultBytes, Math.floor(limit / stepBytes) * stepBytes);
  const size = Math.ceil(Math.max(minWanted, minimumBytes) / stepBytes) * stepBytes;
  if (size <= limit) return size;
  const bounds = `from ${requiredBytes} to ${limitBytes || 'any number of'} bytes`;
  throw new Problem(
    'OUT_OF_RANGE',
    `no size ${bounds} is possible: volumes have ${minimumBytes} to ${maximumBytes} bytes, in steps of ${stepBytes}`,
  );
}

export function minSizeOf({ minimumBytes, stepBytes }: VolumeSizes, neededBytes: number): number {
  return Math.max(minimumBytes, Math.ceil(neededBytes / stepBytes) * stepBytes);
}
