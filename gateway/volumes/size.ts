import { Problem } from '../../src/api/problem.ts';
import type { SizeBounds, VolumeSizes } from '../backend.ts';

/** The least size within what is asked and what the backend can make; OUT_OF_RANGE when there is none. */
export function chooseSize(
  { requiredBytes, limitBytes }: SizeBounds,
  { minimumBytes, maximumBytes = Number.MAX_SAFE_INTEGER, stepBytes, defaultBytes }: VolumeSizes,
): number {
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
