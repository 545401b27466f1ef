import { failures, Problem } from '../../src/api/problem.ts';
import { patienceUntil, withinTime } from '../../src/lib/concurrency.ts';
import { currentRequest } from '../scheduling/current-request.ts';
import type { createAuditLog, LoggedOperation } from './audit-log.ts';

/**
 * Creates the function that prepares operations with answers of a pool's storage, for as long as the caller waits. It logs a
 * failure of the storage as one of the operation, so that operators see which storage kept it from beginning.
 */
export function createPreparation({ begin }: Pick<ReturnType<typeof createAuditLog>, 'begin'>) {
  return async <T>(
    operation: Omit<LoggedOperation, 'about'>,
    pool: string,
    work: () => Promise<T>,
  ): Promise<T> => {
    const { refused } = begin({ ...operation, about: pool });
    const timeoutMs = patienceUntil(currentRequest()?.deadlineMs ?? Infinity, Infinity);
    try {
      const done = await withinTime(work(), timeoutMs);
      if (done) return done.value;
      throw silentProblem(pool, timeoutMs);
    } catch (error) {
      return await refused(error, code => failures.has(code));
    }
  };
}

function silentProblem(pool: string, waitedMs: number): Problem {
  const seconds = Math.max(0, Math.round(waitedMs / 100) / 10);
  const detail = `pool "${pool}": its storage did not answer within ${seconds} s, so nothing was begun; try again, or ask an operator, who sees the storage's state with "fairlead get pools"`;
  return new Problem('DEADLINE_EXCEEDED', detail);
}
