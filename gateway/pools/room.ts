import { Problem } from '../../src/api/problem.ts';
import type { Shortage } from '../tables/volumes.ts';

const shortages = new WeakMap<object, Shortage>();

/** Makes a RESOURCE_EXHAUSTED that ends once soft-deleted volumes have left this room. */
export function shortageProblem(detail: string, shortage: Shortage): Problem {
  const problem = new Problem('RESOURCE_EXHAUSTED', detail);
  shortages.set(problem, shortage);
  return problem;
}

/** Returns the room that soft-deleted volumes can leave; undefined for every other failure. */
export function shortageOf(failure: unknown): Shortage | undefined {
  return failure instanceof Problem ? shortages.get(failure) : undefined;
}

/** Runs the work again as long as room was made for it. */
export async function whileShort<T>(
  work: () => Promise<T>,
  makeRoom: (failure: unknown) => Promise<boolean> = async () => false,
): Promise<T> {
  for (;;)
    try {
      return await work();
    } catch (error) {
      if (!(await makeRoom(error))) throw error;
    }
}

/** Throws any failure other than a shortage, for a dry run: room would be made. */
export function unlessShort(failure: unknown): void {
  if (!shortageOf(failure)) throw failure;
}

/** Waits for all checks. A refusal comes before a shortage, so that no volume leaves for a request that is refused. */
export async function requireAll(checks: readonly Promise<unknown>[]): Promise<void> {
  const ended = await Promise.allSettled(checks);
  const reasons = ended.flatMap(one => (one.status === 'rejected' ? [one.reason as unknown] : []));
  if (reasons.length > 0) throw reasons.find(reason => !shortageOf(reason)) ?? reasons[0];
}
