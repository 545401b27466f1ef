import { setTimeout as pause } from 'node:timers/promises';
import type { Program } from './program.ts';

/**
 * Polls until `look` finds something. On timeout throws `what` with the last failure. If the awaited program has ended,
 * throws at once, with its last output.
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
