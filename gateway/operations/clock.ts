import type { Log } from '../../src/lib/log.ts';
import type { Engine } from '../store.ts';
import { limitClaims, removeEndedClaims } from '../tables/claims.ts';
import { noteTime, postpone, readMissed, toleranceMs } from '../tables/clock.ts';
import { changeInPieces } from '../tables/paging.ts';
import { expireSoftDeleted } from '../tables/volumes.ts';

type ClockOptions = {
  readonly engine: Engine;
  readonly log: Log;
  readonly leaseMs: number;
  /**
   * The interval between starts of a process that lives for only one look, in milliseconds; absent: the process goes on.
   */
  readonly beginsEveryMs?: number | undefined;
};

/**
 * An expired claim is kept for this number of leases: it still names its holder, and a holder that paused can renew it.
 */
const keptLeases = 10;

/**
 * Creates `look`, which returns the time and ends claims and soft-deleted volumes whose time is over. The clock
 * may be wrong: time without a look of a gateway at the store, or that a clock skipped, does not count. If
 * very many have to end, the next look continues.
 */
export function createClock({ engine, log, leaseMs, beginsEveryMs = 0 }: ClockOptions) {
  let lookedMs: number | undefined;
  let skewMs = 0;
  const look = async (): Promise<number> => {
    const elapsedMs = lookedMs === undefined ? beginsEveryMs : performance.now() - lookedMs;
    const { nowMs, seenMs, missedMs, aheadMs, behindMs } = await engine.transaction(async sql => {
      const noted = await noteTime(sql);
      const sinceMs = noted.nowMs - noted.seenMs;
      const skew = { ...noted, aheadMs: sinceMs - elapsedMs, behindMs: -sinceMs };
      if (skew.aheadMs > toleranceMs) await postpone(sql, Math.ceil(skew.aheadMs), noted.nowMs);
      return { ...skew, missedMs: await readMissed(sql) };
    });
    lookedMs = performance.now();
    await changeInPieces(engine, async (sql, limit) => limitClaims(sql, (await sql.now()) + leaseMs, limit));
    // The earlier of both times, so that a clock that has just jumped takes no claim from a holder that is
    // about to renew it.
    const endedMs = Math.min(nowMs, seenMs) - keptLeases * leaseMs;
    await changeInPieces(engine, (sql, limit) => removeEndedClaims(sql, endedMs, limit));
    await changeInPieces(engine, (sql, limit) => expireSoftDeleted(sql, nowMs - missedMs, limit));
    skewMs = Math.max(0, aheadMs) - Math.max(0, behindMs);
    if (aheadMs > toleranceMs)
      log.warn(
        'no gateway looked at the store for long, or the clock went ahead: deleted volumes are kept longer',
        {
          durationMs: Math.round(aheadMs),
        },
      );
    if (behindMs > toleranceMs)
      log.warn('the clock is behind the clock of the gateway that last looked at the store', {
        durationMs: behindMs,
      });
    return nowMs;
  };
  return {
    look,
    /** The time that the clock was ahead at the last look, or, if negative, behind. */
    skewMs: (): number => skewMs,
  };
}
