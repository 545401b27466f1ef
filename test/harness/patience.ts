import type { Problem } from '../../src/api/problem.ts';
import { pause } from '../../src/lib/concurrency.ts';

const everyMs = 200;
const timeoutMs = 300_000;

/** Calls as kubelet does: again while the answer is UNAVAILABLE, for at most five minutes. */
export async function untilAvailable<T>(call: () => Promise<T>): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if ((error as Problem).code !== 'UNAVAILABLE' || performance.now() >= deadlineMs) throw error;
    }
    await pause(everyMs);
  }
}
