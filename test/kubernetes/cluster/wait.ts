import { setTimeout as pause } from 'node:timers/promises';
import type { Program } from './program.ts';

/**
 * Looks until there is something to see. Throws what `what` describes, with the last failure, when there was nothing in time;
 * at once, with what it said last, when the program that is waited for has ended.
 */
export async function waitFor<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  program?: Program,
): Promise<T> {
  const deadlineMs = performance.now() + 180_000;
  let failure: unknown;
  while (performance.now() < deadlineMs) {
    if (program?.hasEnded()) throw new Error(`no ${what}: it ended: ${program.output().slice(-2_000)}`);
    try {
      const seen = await look();
      if (seen !== undefined) return seen;
    } catch (error) {
      failure = error;
    }
    await pause(100);
  }
  throw new Error(`waited in vain for ${what}`, { cause: failure });
}
