import * as z from 'zod';
import { type Bounds, defaultBounds } from '../scheduling/limit.ts';

const count = z.int().min(1).max(1_024).optional();

/** The bounds for the number of operations that a pool's storage gets at a time. */
export const concurrencySchema = z
  .strictObject({ min: count, max: count })
  .describe(
    `number of operations that its storage gets at a time, adjusted to its load from \`min\` (${defaultBounds.min}) to \`max\` (${defaultBounds.max}); ` +
      'a change takes effect without a restart',
  );

/**
 * Returns the bounds of a pool and their fault, if any. `maxCalls` is the number of calls that the backend
 * allows at a time.
 */
export function toBounds(
  { min, max }: z.output<typeof concurrencySchema>,
  maxCalls = Infinity,
): { readonly bounds: Bounds; readonly fault?: string } {
  const upper = max ?? Math.min(Math.max(defaultBounds.max, min ?? 0), maxCalls);
  const bounds = { min: min ?? Math.min(defaultBounds.min, upper), max: upper };
  if (upper > maxCalls)
    return { bounds, fault: `max is ${upper}, but the pool's settings allow at most ${maxCalls}` };
  return bounds.min > upper
    ? { bounds, fault: `min is ${bounds.min}, which is more than max, ${upper}` }
    : { bounds };
}
