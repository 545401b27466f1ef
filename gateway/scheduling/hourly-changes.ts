import { limitDetail, limits } from '../../src/api/limits.ts';
import { overloadedProblem } from '../../src/api/problem.ts';

const hourMs = 3_600_000;
/** The longest `retryAfterS`, in seconds. */
const maxRetryS = 60;

/** Counts the changes of each cluster in the present hour, in this process. */
export function createHourlyChanges(nowMs: () => number = Date.now) {
  const counts = new Map<string, number>();
  let hour = 0;

  function startHour(): void {
    const now = Math.floor(nowMs() / hourMs);
    if (now !== hour) counts.clear();
    hour = now;
  }

  return {
    add(cluster: string): void {
      startHour();
      counts.set(cluster, (counts.get(cluster) ?? 0) + 1);
    },
    /** Throws UNAVAILABLE when the cluster has made as many changes as its limit allows. */
    requireFew(cluster: string): void {
      startHour();
      const count = counts.get(cluster) ?? 0;
      if (count < limits.changesPerHour.max) return;
      const leftS = Math.ceil(((hour + 1) * hourMs - nowMs()) / 1_000);
      const detail = `cluster "${cluster}" ${limitDetail('changesPerHour', count + 1)}`;
      throw overloadedProblem(detail, Math.min(leftS, maxRetryS));
    },
  };
}
