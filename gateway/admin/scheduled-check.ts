import { startTimeLimit } from '../../src/lib/concurrency.ts';
import { claimCheck } from '../tables/clock.ts';
import { check, type CheckOptions } from './check.ts';

/** The time without checks after the start, in milliseconds, so that many restarts are not as many checks. */
const quietMs = 60_000;

/**
 * Creates the check that gateways begin by themselves: one of all gateways on the store runs it when the last one is
 * older than `everyMs`. Its findings are in the store.
 */
export function createScheduledCheck(options: CheckOptions, everyMs: number) {
  const isQuietOver = startTimeLimit(Math.min(quietMs, everyMs));
  return async (): Promise<void> => {
    if (everyMs === 0 || !isQuietOver() || !(await claimCheck(options.engine, everyMs))) return;
    await check(options);
  };
}
