import type { PoolState } from '../api/admin.ts';

/** Describes the last failed call of a pool, with its time and its request id; undefined if there is none. */
export function describeLastFailure({ lastFailure }: Pick<PoolState, 'lastFailure'>): string | undefined {
  if (!lastFailure) return undefined;
  const { at, method, code, detail, requestId } = lastFailure;
  const request = requestId === undefined ? '' : ` (request ${requestId})`;
  return `${method} failed at ${at} with ${code}: ${detail}${request}`;
}

/** Returns true when at least half of the recent calls of a pool have failed. */
export function isFailing({
  recentCalls = { total: 0, failed: 0 },
}: Pick<PoolState, 'recentCalls'>): boolean {
  return recentCalls.failed > 0 && recentCalls.failed * 2 >= recentCalls.total;
}

/** Describes the fault of a pool; undefined for a pool that works. */
export function faultOf(pool: PoolState): string | undefined {
  const { state, waitingFor, fault, answers, isPaused, recentCalls } = pool;
  if (state === 'waiting') return waitingFor;
  const failed = isFailing(pool)
    ? `${recentCalls?.failed} of ${recentCalls?.total} calls failed in the last 5 minutes`
    : undefined;
  const last = answers === false || failed !== undefined ? describeLastFailure(pool) : undefined;
  const paused = isPaused ? 'the gateway pauses its requests' : undefined;
  // The answer to the question about its size is often the last failure itself.
  const own = fault !== undefined && last?.includes(fault) ? undefined : fault;
  const all = [own, failed, paused, last].filter(one => one !== undefined);
  return all.length > 0 ? all.join('; ') : undefined;
}

/** Calculates the reserved part of a pool in percent; undefined for a pool of unknown size. */
export function usedOf({ totalBytes, reservedBytes }: Pick<PoolState, 'totalBytes' | 'reservedBytes'>) {
  return totalBytes ? Math.round((100 * reservedBytes) / totalBytes) : undefined;
}
