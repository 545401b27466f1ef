import { asProblem, wordsForOperators } from '../../../src/api/problem.ts';
import { withinTime } from '../../../src/lib/concurrency.ts';
import type { Pool } from '../pools.ts';
import { measureSpaces } from '../space.ts';
import { withoutPoolName } from './waiting.ts';

/** A storage must report its size within this time, in milliseconds. */
const answerMs = 2_000;

/** The state of a pool's storage: whether it answers, its size if it reports one, or the reason why it does not. */
export type Probe = { readonly answers: boolean; readonly totalBytes?: number; readonly fault?: string };

/**
 * Asks the storage for its size. A storage that reports none answers if its last call was answered. Never rejects, and
 * leaves at most one unanswered question at the storage.
 */
export async function probePool(pool: Pool): Promise<Probe> {
  const ask = (): ReturnType<typeof measureSpaces> => measureSpaces(pool);
  try {
    const answer = await withinTime(pool.answers ? pool.answers.ask(ask) : ask(), answerMs);
    if (!answer) return { answers: false, fault: `its storage did not answer within ${answerMs / 1_000} s` };
    if (answer.value)
      return { answers: true, totalBytes: answer.value.reduce((all, { totalBytes }) => all + totalBytes, 0) };
    return { answers: pool.answers?.show().answers ?? true };
  } catch (error) {
    return { answers: false, fault: withoutPoolName(pool.name, wordsForOperators(asProblem(error))) };
  }
}
