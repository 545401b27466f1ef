import { overloadedProblem } from '../../src/api/problem.ts';
import type { Tenant } from './cluster.ts';

type Bucket = { tokens: number; sinceMs: number };

/** A cluster asks faster than it may. Each second brings one at least. */
const tooFast = overloadedProblem('the cluster asks more often than its rate allows; try again later', 1);

/**
 * Counts the requests of clusters that have a rate: `burst` at once, and `perSecond` from then on. Each process counts
 * for itself, from its start.
 */
export function createRates(nowMs: () => number = () => performance.now()) {
  const buckets = new Map<string, Bucket>();

  return {
    /** Takes a request from what the caller may ask now, or throws UNAVAILABLE, and it counts for nothing. */
    spend(caller: Tenant): void {
      if (caller === 'operator' || !caller.rate) return;
      const { name, rate } = caller;
      const { perSecond, burst = 2 * perSecond } = rate;
      const now = nowMs();
      const bucket = buckets.getOrInsertComputed(name, () => ({ tokens: burst, sinceMs: now }));
      const came = ((now - bucket.sinceMs) / 1_000) * perSecond;
      bucket.tokens = Math.min(burst, bucket.tokens + came);
      bucket.sinceMs = now;
      if (bucket.tokens < 1) throw tooFast;
      bucket.tokens--;
    },
  };
}
