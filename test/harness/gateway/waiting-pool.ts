import type { WaitingPool } from '../../../gateway/pools/state/waiting.ts';
import { unavailableProblem } from '../../../src/api/problem.ts';

/** Makes the state of a pool that is not open. */
export function waitingPool(reason: string): WaitingPool {
  return { backend: 'memory', sinceMs: 0, problem: unavailableProblem(reason), reason };
}
