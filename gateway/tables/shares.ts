import { shareCount } from '../store.ts';
import { partOf } from './counts.ts';

/** Assigns one of a resource's shares to the key of a request: the same share for the same key in all gateways. */
export function shareOf(key: string): number {
  return partOf(key, shareCount);
}

/**
 * Returns true if a transaction that has only a share of the limited resource may not add `more` to `used`, the committed
 * usage that it reads, although it fits. At most `shareCount` transactions with a share have decided and not committed yet,
 * this one included. Each of them adds once, and at most a `step`. So the limit holds if it leaves a step for each of them.
 */
export function needsLock(limit: number, used: number, more: number): boolean {
  const step = limit / shareCount ** 2;
  const isFar = more <= step && used + shareCount * step <= limit;
  return more > 0 && used + more <= limit && !isFar;
}
