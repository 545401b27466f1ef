import { resolve } from 'node:path';
import { BrokenCircuitError, circuitBreaker, CircuitState, ConsecutiveBreaker, handleWhen } from 'cockatiel';
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
import {
  asProblem,
  callerGone,
  type Outage,
  Problem,
  unavailableProblem,
  withOutage,
} from '../../../src/api/problem.ts';
import { outageOf, reasonOf } from '../../../src/lib/words/failures.ts';
import type { PoolContext } from '../../backend.ts';
import type { RestSettings } from './settings.ts';
import { createTokenSource } from './tokens.ts';

/** The setting that names the authorities which the pool trusts. */
const authoritiesFrom = '"tls.ca" of the pool';

type Guard = NonNullable<HttpOptions['guard']>;
type Reply = Awaited<ReturnType<Parameters<Guard>[0]>>;

export interface Vendor {
  /**
   * Calls an operation. Every error is a Problem that names the pool; a code outside the operation's codes is
   * UNAVAILABLE.
   */
  ask<Id extends OperationId>(id: Id, input: Input<Operations[Id]>): Promise<Output<Operations[Id]>>;
  /** The time limit for a list or a comparison with all its pages, in milliseconds. */
  readonly listTimeoutMs: number;
  /** Returns true while the circuit breaker holds all requests back. */
  isPaused(): boolean;
  close(): Promise<void>;
}

/** Sends the storage a request without a token. Rejects unless it answers, with any status. */
export async function reachStorage(settings: RestSettings, pool: PoolContext): Promise<void> {
  let isReached = false;
  const guard: Guard = async send => {
    const reply = await send();
    isReached = true;
    return reply;
  };
  const client = createClient({ ...clientOptions(settings, pool), token: () => undefined, guard });
  try {
    await client.getCapabilities({}, { deadlineMs: Date.now() + settings.queryTimeout });
  } catch (error) {
    if (!isReached) throw error;
  } finally {
    await client.close();
  }
}

function clientOptions(
  { url, tries, connections, requestTimeout: requestTimeoutMs, tls }: RestSettings,
  { directory }: PoolContext,
) {
  return {
    url,
    tries,
    connections,
    requestTimeoutMs,
    tls: readTlsFiles(resolveAll(tls, directory)),
    authoritiesFrom,
  };
}

/** Creates the client of a pool's storage with time limits, retries and a circuit breaker. Sends nothing yet. */
export function createVendor(
  settings: RestSettings,
  pool: PoolContext,
  token = createTokenSource(settings, pool),
): Vendor {
  const { queryTimeout, workTimeout } = settings;
  const { guard, isPaused } = createGuard(settings, pool);
  const client = createClient({ ...clientOptions(settings, pool), token, guard });
  return {
    async ask(id, input) {
      // Only operations that may take long are answered with 202.
      const isWork = 202 in operations[id].answers;
      const untilMs = Date.now() + (isWork ? workTimeout : queryTimeout);
      try {
        // The type of `ask` ties the input to the id; from here on all calls are alike.
        const call = client[id] as unknown as (...args: readonly unknown[]) => Promise<never>;
        const {
          requestId,
          traceparent,
          deadlineMs: wantedUntilMs = Infinity,
        } = pool.currentRequest?.() ?? {};
        return await call(input, {
          // Work that has begun continues after its caller has given up.
          deadlineMs: isWork ? untilMs : Math.min(untilMs, wantedUntilMs),
          wantedUntilMs,
          ...(requestId !== undefined && { requestId }),
          traceparent,
        });
      } catch (error) {
        throw toProblem(asProblem(error), pool.name, id);
      }
    },
    listTimeoutMs: workTimeout,
    isPaused,
    close: () => client.close(),
  };
}

/**
 * Converts an error. Clusters do not learn where the storage is: a failure of the connection or the token has a `cause`,
 * and its text, which names addresses and settings, is only the `reason` for operators. A DELETE of a missing resource succeeds, so its NOT_FOUND comes from another server, for example
 * behind a wrong URL, and becomes UNAVAILABLE.
 */
function toProblem(problem: Problem, pool: string, id: OperationId): Problem {
  const { code, detail, cause, retryAfterS } = problem;
  const isOtherServer = code === 'NOT_FOUND' && operations[id].route.startsWith('DELETE ');
  const prefix = isOtherServer
    ? `answers NOT_FOUND to ${operations[id].route}, which a storage never does; check the pool's url: `
    : '';
  const reason = `pool "${pool}": ${prefix}${detail}`;
  const outage = isOtherServer ? 'foreign' : problem.outage;
  const unusable = `pool "${pool}": its storage cannot be used now; try again, or ask an operator, who sees the reason with "fairlead get pools"`;
  const hidesReason = cause !== undefined || isOtherServer;
  const shown = Object.assign(
    new Problem(isOtherServer ? 'UNAVAILABLE' : code, hidesReason ? unusable : reason, cause),
    hidesReason && { reason },
    retryAfterS !== undefined && { retryAfterS },
  );
  return withOutage(shown, outage);
}

/**
 * Creates a circuit breaker: after `breakAfter` tries in a row without an answer that gives a reason, nothing is sent for
 * `breakFor`. The calls that it holds back fail as the last of these tries did.
 */
function createGuard({ breakAfter, breakFor }: RestSettings, { name, log }: PoolContext) {
  const failed = handleWhen(error => error !== callerGone).orWhenResult(isUnexplained);
  const breaker = circuitBreaker(failed, {
    halfOpenAfter: breakFor,
    breaker: new ConsecutiveBreaker(breakAfter),
  });
  const detail = `pools.${name}`;
  let isReported = false;
  // After each pause one try goes through, and if it fails, the breaker opens again.
  breaker.onBreak(() => {
    if (!isReported) log.warn('a storage fails; requests to it pause', { detail, durationMs: breakFor });
    isReported = true;
  });
  breaker.onReset(() => {
    log.info('a storage answers again', { detail });
    isReported = false;
  });
  let last: { readonly fault: string; readonly outage?: Outage | undefined } = { fault: '' };
  const guard: Guard = async send => {
    try {
      const reply = await breaker.execute(send);
      if (isUnexplained(reply))
        last = { fault: `a server answered HTTP status ${reply.status}`, outage: 'errors' };
      return reply;
    } catch (error) {
      if (error instanceof BrokenCircuitError)
        throw withOutage(
          unavailableProblem(
            `requests to the storage pause for ${breakFor / 1_000} s, because the last ${breakAfter} failed: ${last.fault}`,
            error,
          ),
          last.outage,
        );
      const outage = error instanceof Problem ? error.outage : outageOf(error);
      if (error !== callerGone) last = { fault: reasonOf(error, authoritiesFrom), outage };
      throw error;
    }
  };
  return { guard, isPaused: () => breaker.state === CircuitState.Open };
}

/** Returns true for a server error without a problem document, of the storage or of a proxy. */
function isUnexplained(reply: unknown): boolean {
  const { status, body } = reply as Reply;
  return status >= 500 && !problemSchema.safeParse(body).success;
}

function resolveAll(files: RestSettings['tls'] = {}, directory = '.'): TlsPaths {
  const paths = Object.entries(files).map(([name, file]) => [name, file && resolve(directory, file)]);
  return Object.fromEntries(paths) as TlsPaths;
}
