import { Problem } from '../../../src/api/problem.ts';

/** What sizes a backend can make, in bytes: a whole number of steps from the minimum to the maximum. */
export type SizeBounds = {
  readonly minimumBytes: number;
  readonly maximumBytes: number;
  readonly stepBytes: number;
  /** Taken when nothing is asked, or as much of it as the limit allows. */
  readonly defaultBytes: number;
};

/** The least size within what is asked and what can be; OUT_OF_RANGE when there is none. */
export function chooseSize(
  asked: { readonly requiredBytes: number; readonly limitBytes: number },
  { minimumBytes, maximumBytes, stepBytes, defaultBytes }: SizeBounds,
): number {
  const limit = Math.min(asked.limitBytes || maximumBytes, maximumBytes);
  const least = Math.max(
    asked.requiredBytes || Math.min(defaultBytes, roundDown(limit, stepBytes)),
    minimumBytes,
  );
  const size = roundUp(least, stepBytes);
  if (size <= limit) return size;
  const bounds = `from ${asked.requiredBytes} to ${asked.limitBytes || 'any number of'} bytes`;
  throw new Problem(
    'OUT_OF_RANGE',
    `no size ${bounds} can be had: volumes have ${minimumBytes} to ${maximumBytes} bytes, in steps of ${stepBytes}`,
  );
}

function roundUp(size: number, step: number): number {
  return Math.ceil(size / step) * step;
}

function roundDown(size: number, step: number): number {
  return Math.floor(size / step) * step;
}
