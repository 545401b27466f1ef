import type { PoolState } from '../api/admin.ts';
import type { Outage } from '../api/problem.ts';
import { toSize } from './output/values.ts';

const predicates: Readonly<Record<Outage, string>> = {
  silent: 'does not answer',
  errors: 'answers with errors',
  foreign: 'answers with something else than the Storage API',
};

/** Says how the storage of a pool with a fault fails, to follow its name. */
export function describeOutage({ answers, outage }: Pick<PoolState, 'answers' | 'outage'>): string {
  if (outage) return predicates[outage];
  return answers === false ? 'cannot be used' : 'fails';
}

/** Describes the last failed call of a pool, with its time and its request id; undefined if there is none. */
export function describeLastFailure({ lastFailure }: Pick<PoolState, 'lastFailure'>): string | undefined {
  if (!lastFailure) return undefined;
  const { at, method, code, detail, requestId } = lastFailure;
  const request = requestId === undefined ? '' : ` (request ${requestId})`;
  return `${method} failed at ${at} with ${code}: ${detail}${request}`;
}

/** Returns true when at least half of the recent calls of a pool have failed. */
function isFailing({ recentCalls = { total: 0, failed: 0 } }: Pick<PoolState, 'recentCalls'>): boolean {
  return recentCalls.failed > 0 && recentCalls.failed * 2 >= recentCalls.total;
}

/** Describes the fault of a pool, how its storage fails first; undefined for a pool that works. */
export function faultOf(pool: PoolState): string | undefined {
  const { state, waitingFor, fault, answers, isPaused, recentCalls, failingSince, lastFailure } = pool;
  const since = failingSince && `failing since ${failingSince}`;
  if (state === 'waiting')
    return joinWords(waitingFor, since, lastFailure && `last tried at ${lastFailure.at}`);
  const counts =
    isFailing(pool) && `${recentCalls?.failed} of ${recentCalls?.total} calls failed in the last 5 minutes`;
  const paused = isPaused && 'the gateway pauses its requests';
  if (answers !== false && !fault && !counts && !paused) return undefined;
  const last = describeLastFailure(pool);
  // The answer to the question about its size is often the last failure itself.
  const own = fault !== undefined && !last?.includes(fault) && fault;
  return joinWords(`its storage ${describeOutage(pool)}`, since, own, counts, paused, last);
}

function joinWords(...words: readonly (string | false | undefined)[]): string {
  return words.filter(Boolean).join('; ');
}

/** Advises an operator whose pool has a fault. */
export function adviseFaulty({ id }: Pick<PoolState, 'id'>): string {
  return `check the storage; the clusters try each call again, so the gateway needs no repair; more: fairlead describe pool ${id}`;
}

type Space = Pick<PoolState, 'totalBytes' | 'reservedBytes' | 'deletedBytes'>;

/** Calculates the used part of a pool in percent; undefined for a pool of unknown size. */
export function usedOf(pool: Space): number | undefined {
  return pool.totalBytes ? Math.round((100 * usedBytesOf(pool)) / pool.totalBytes) : undefined;
}

/** Returns the reserved bytes without those of soft-deleted volumes, which leave when room is needed. */
export function usedBytesOf({ reservedBytes, deletedBytes = 0 }: Omit<Space, 'totalBytes'>): number {
  return reservedBytes - deletedBytes;
}

/** Describes the space of a pool, such as "40% of 1Ti reserved, and 20Gi more soft-deleted". */
export function describeSpace(pool: Space): string {
  const { totalBytes, deletedBytes = 0 } = pool;
  const used = totalBytes ? `${usedOf(pool)}% of ${toSize(totalBytes)}` : toSize(usedBytesOf(pool));
  return `${used} reserved${deletedBytes > 0 ? `, and ${toSize(deletedBytes)} more soft-deleted` : ''}`;
}
