import { z } from 'zod';
import { type Bounds, usualBounds } from '../pools/limit.ts';

const count = z.int().min(1).max(1_024).optional();

/** What a pool's entry may say of how many operations its storage is given at a time. */
export const concurrencySchema = z
  .strictObject({ min: count, max: count })
  .describe(
    `how many operations its storage is given at a time, as many as it can take from \`min\` (${usualBounds.min}) to \`max\` (${usualBounds.max}); ` +
      'a change takes effect without a restart',
  );

/** The bounds of a pool whose backend takes so many calls at a time at the most, and what is wrong with them. */
export function toBounds(
  { min, max }: z.output<typeof concurrencySchema>,
  most = Infinity,
): { readonly bounds: Bounds; readonly fault?: string } {
  const upper = max ?? Math.min(Math.max(usualBounds.max, min ?? 0), most);
  const bounds = { min: min ?? Math.min(usualBounds.min, upper), max: upper };
  if (upper > most) return { bounds, fault: `max is more than the ${most} that the pool's settings allow` };
  return bounds.min > upper ? { bounds, fault: `min is more than max, which is ${upper}` } : { bounds };
}
