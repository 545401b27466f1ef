import { asProblem, type Outage, wordsForOperators } from '../../../src/api/problem.ts';
import { withinTime } from '../../../src/lib/concurrency.ts';
import type { Pool } from '../pools.ts';
import { measureSpaces } from '../space.ts';
import { withoutPoolName } from './waiting.ts';

/** A storage must answer within this time, in milliseconds. */
const answerMs = 2_000;

/** The state of a pool's storage: its size if it reports one, or how it fails if known, with the reason. */
export type Probe = {
  readonly answers: boolean;
  readonly outage?: Outage;
  readonly totalBytes?: number;
  readonly fault?: string;
};

/**
 * Asks the storage for its size, or only for an answer if it reports none. A backend that can do neither is judged by
 * its last call. Never rejects, and leaves at most one unanswered question at the storage.
 */
export async function probePool(pool: Pool): Promise<Probe> {
  const ask = async (): ReturnType<typeof measureSpaces> => {
    const spaces = await measureSpaces(pool);
    if (!spaces) await pool.backend.reach?.();
    return spaces;
  };
  try {
    const answer = await withinTime(pool.answers ? pool.answers.ask(ask) : ask(), answerMs);
    if (!answer) return { answers: false, outage: 'silent', fault: `no answer within ${answerMs / 1_000} s` };
    if (answer.value)
      return { answers: true, totalBytes: answer.value.reduce((all, { totalBytes }) => all + totalBytes, 0) };
    const { answers = true, outage } = pool.answers?.show() ?? {};
    return { answers, ...(outage && { outage }) };
  } catch (error) {
    const problem = asProblem(error);
    const { outage } = problem;
    const fault = withoutPoolName(pool.name, wordsForOperators(problem));
    return { answers: false, ...(outage && { outage }), fault };
  }
}
