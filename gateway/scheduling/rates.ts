import { overloadedProblem } from '../../src/api/problem.ts';
import type { Tenant } from '../callers/cluster.ts';

type Bucket = { tokens: number; sinceMs: number };

/** The refusal of a request beyond the rate. Every rate allows at least one request in a second. */
const tooFast = overloadedProblem('the cluster sends more requests than its rate allows; try again later', 1);

/**
 * Limits the requests of clusters that have a rate: `burst` requests at once, then `perSecond`. Each process
 * counts by itself, from its start.
 */
export function createRates(nowMs: () => number = () => performance.now()) {
  const buckets = new Map<string, Bucket>();

  return {
    /** Takes one request from the cluster's rate, or throws UNAVAILABLE and takes nothing. */
    spend(caller: Tenant): void {
      if (caller === 'operator' || !caller.rate) return;
      const { name, rate } = caller;
      const { perSecond, burst = 2 * perSecond } = rate;
      const now = nowMs();
      const bucket = buckets.getOrInsertComputed(name, () => ({ tokens: burst, sinceMs: now }));
      const refill = ((now - bucket.sinceMs) / 1_000) * perSecond;
      bucket.tokens = Math.min(burst, bucket.tokens + refill);
      bucket.sinceMs = now;
      if (bucket.tokens < 1) throw tooFast;
      bucket.tokens--;
    },
  };
}
