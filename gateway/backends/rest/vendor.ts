import { resolve } from 'node:path';
import { BrokenCircuitError, circuitBreaker, ConsecutiveBreaker, handleWhen } from 'cockatiel';
import { createClient } from '../../../src/api/client.ts';
import { readTlsFiles, type TlsPaths } from '../../../src/api/http/tls-files.ts';
import type { HttpOptions } from '../../../src/api/http.ts';
import {
  operations,
  problemSchema,
  type Input,
  type OperationId,
  type Operations,
  type Output,
} from '../../../src/api/operations.ts';
import { asProblem, callerGone, Problem, unavailableProblem } from '../../../src/api/problem.ts';
import type { PoolContext } from '../../backend.ts';
import { currentRequest } from '../../operations/request.ts';
import type { RestSettings } from './settings.ts';
import { createTokenSource } from './tokens.ts';

type Guard = NonNullable<HttpOptions['guard']>;
type Reply = Awaited<ReturnType<Parameters<Guard>[0]>>;

/** The storage's operations. */
export interface Vendor {
  /** Every error is a Problem that names the pool. A code that the operation does not have is UNAVAILABLE. */
  ask<Id extends OperationId>(id: Id, input: Input<Operations[Id]>): Promise<Output<Operations[Id]>>;
  close(): Promise<void>;
}

/** Makes the client of a pool's storage, with its time-outs, tries and circuit breaker. Nothing is sent yet. */
export function createVendor(settings: RestSettings, pool: PoolContext): Vendor {
  const { url, tries, connections, requestTimeout, queryTimeout, workTimeout } = settings;
  const client = createClient({
    url,
    token: createTokenSource(settings, pool),
    tries,
    connections,
    requestTimeoutMs: requestTimeout,
    tls: readTlsFiles(resolveAll(settings.tls, pool.directory)),
    guard: createGuard(settings, pool),
  });
  return {
    async ask(id, input) {
      // Only what may take long is answered with 202.
      const isWork = 202 in operations[id].answers;
      const untilMs = Date.now() + (isWork ? workTimeout : queryTimeout);
      try {
        const call = client[id] as unknown as (...args: readonly unknown[]) => Promise<never>;
        const { requestId, traceparent, deadlineMs: wantedUntilMs = Infinity } = currentRequest() ?? {};
        return await call(input, {
          // What is begun goes on when its caller has given up.
          deadlineMs: isWork ? untilMs : Math.min(untilMs, wantedUntilMs),
          wantedUntilMs,
          ...(requestId !== undefined && { requestId }),
          traceparent,
        });
      } catch (error) {
        throw toProblem(asProblem(error), pool.name, id);
      }
    },
    close: () => client.close(),
  };
}

/** What is missing is deleted already, and NOT_FOUND comes from who does not know what was asked, such as another server. */
function toProblem({ code, detail, cause, retryAfterS }: Problem, pool: string, id: OperationId): Problem {
  const isMisled = code === 'NOT_FOUND' && operations[id].route.startsWith('DELETE ');
  const found = isMisled ? `answers NOT_FOUND to ${operations[id].route}, which it never has: ` : '';
  const problem = new Problem(isMisled ? 'UNAVAILABLE' : code, `pool "${pool}": ${found}${detail}`, cause);
  return retryAfterS === undefined ? problem : Object.assign(problem, { retryAfterS });
}

/** Sends nothing for a while once so many tries in a row were not answered by the storage itself. */
function createGuard({ breakAfter, breakFor }: RestSettings, { name, log }: PoolContext): Guard {
  const unanswered = handleWhen(error => error !== callerGone).orWhenResult(isUnanswered);
  const breaker = circuitBreaker(unanswered, {
    halfOpenAfter: breakFor,
    breaker: new ConsecutiveBreaker(breakAfter),
  });
  const detail = `pools.${name}`;
  breaker.onBreak(() =>
    log.warn('a storage does not answer; it is left alone', { detail, durationMs: breakFor }),
  );
  breaker.onReset(() => log.info('a storage answers again', { detail }));
  const broken = unavailableProblem('the storage does not answer; it is tried again in a moment');
  return async send => {
    try {
      return await breaker.execute(send);
    } catch (error) {
      throw error instanceof BrokenCircuitError ? broken : error;
    }
  };
}

/** A problem document comes from the storage, and from nothing in front of it. */
function isUnanswered(reply: unknown): boolean {
  const { status, body } = reply as Reply;
  return status >= 500 && !problemSchema.safeParse(body).success;
}

function resolveAll(files: RestSettings['tls'] = {}, directory = '.'): TlsPaths {
  const paths = Object.entries(files).map(([name, file]) => [name, file && resolve(directory, file)]);
  return Object.fromEntries(paths) as TlsPaths;
}
