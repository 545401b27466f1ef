import type { Log } from '../../src/lib/log.ts';
import type { Engine } from '../store.ts';
import { limitClaims, removeEndedClaims } from '../tables/claims.ts';
import { noteTime, postpone, toleranceMs } from '../tables/clock.ts';
import { expireSoftDeleted } from '../tables/volumes.ts';

/** What a clock is compared with, and how long claims hold. */
type ClockOptions = {
  readonly engine: Engine;
  readonly log: Log;
  readonly leaseMs: number;
  /** How often a process that lives for one look alone is begun, in milliseconds; absent: it lives on. */
  readonly beginsEveryMs?: number | undefined;
};

/** For so many leases a claim that has ended tells who was at work, and can be renewed by who stood still. */
const keptLeases = 10;

/**
 * Makes `look`, which returns what time it is and ends claims and soft-deleted volumes whose time is over, by a clock that may be wrong: time in which no
 * gateway looked at the store, or that a clock left out, counts for neither.
 */
export function createClock({ engine, log, leaseMs, beginsEveryMs = 0 }: ClockOptions) {
  let lookedMs: number | undefined;
  let skewMs = 0;
  const look = async (): Promise<number> => {
    const elapsedMs = lookedMs === undefined ? beginsEveryMs : performance.now() - lookedMs;
    const { nowMs, aheadMs, behindMs } = await engine.transaction(async sql => {
      const noted = await noteTime(sql);
      const sinceMs = noted.nowMs - noted.seenMs;
      const skew = { ...noted, aheadMs: sinceMs - elapsedMs, behindMs: -sinceMs };
      if (skew.aheadMs > toleranceMs) await postpone(sql, Math.ceil(skew.aheadMs), noted.nowMs);
      await limitClaims(sql, noted.nowMs + leaseMs);
      // By the earlier of both: a clock that has just jumped takes no claim from who is about to renew it.
      const certainMs = Math.min(noted.nowMs, noted.seenMs);
      await removeEndedClaims(sql, certainMs - keptLeases * leaseMs);
      await expireSoftDeleted(sql, noted.nowMs);
      return skew;
    });
    lookedMs = performance.now();
    skewMs = Math.max(0, aheadMs) - Math.max(0, behindMs);
    if (aheadMs > toleranceMs)
      log.warn(
        'no gateway looked at the store for long, or the clock went ahead: what is deleted is kept longer',
        {
          durationMs: Math.round(aheadMs),
        },
      );
    if (behindMs > toleranceMs)
      log.warn('the clock is behind that of the gateway that last looked at the store', {
        durationMs: behindMs,
      });
    return nowMs;
  };
  return {
    look,
    /** How far the clock was ahead at the last look, or, negative, behind. */
    skewMs: (): number => skewMs,
  };
}
