import type { Context } from 'hono';
import { asProblem, Problem, toDocument, wordsForOperators } from '../../src/api/problem.ts';
import { framesOf, type Log } from '../../src/lib/log.ts';
import { traceIdOf } from '../../src/tracing/trace.ts';
import { callerName, type Caller } from '../callers/caller.ts';

/** The state of a request: its names in logs, its caller once verified, and the problem if it was refused. */
type RequestState = {
  readonly requestId: string;
  readonly traceparent: string;
  caller: Caller | undefined;
  problem: Problem | undefined;
  /** True once the body has said so. */
  isDryRun: boolean;
};

export type Env = { Variables: { served: RequestState } };

/** Answers a request. An error that it throws is answered as a problem. */
export type RouteHandler = (c: Context<Env>) => Response | Promise<Response>;

/** Answers a request of a verified caller. */
export type CallerHandler = (c: Context<Env>, caller: Caller) => Promise<Response>;

/** The header with a request's id: a caller may choose it, and the answer repeats it. */
const requestIdHeader = 'x-request-id';
/** The form of an id that a caller chooses; any other is replaced. */
const requestIdPattern = /^[\w=-]{1,64}$/;

export function toRequestState(c: Context<Env>, traceparent: string): RequestState {
  const chosen = c.req.header(requestIdHeader);
  const requestId = chosen !== undefined && requestIdPattern.test(chosen) ? chosen : crypto.randomUUID();
  return { requestId, traceparent, caller: undefined, problem: undefined, isDryRun: false };
}

/** The status (default 200) and the headers of an answer. */
type Head = { readonly status?: number; readonly headers?: Readonly<Record<string, string>> };

/** Makes an answer with the request's id. The headers are a plain object, which the server writes unchanged. */
export function respond(
  c: Context<Env>,
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
  { status = 200, headers }: Head = {},
): Response {
  return new Response(body, {
    status,
    headers: { [requestIdHeader]: c.get('served').requestId, ...headers },
  });
}

export function respondJson(c: Context<Env>, value: object, { status, headers }: Head = {}): Response {
  return respond(c, JSON.stringify(value), {
    ...(status !== undefined && { status }),
    headers: { 'content-type': 'application/json', ...headers },
  });
}

/** Answers with events, which no proxy may hold back or compress. */
export function respondEvents(c: Context<Env>, events: ReadableStream<Uint8Array>): Response {
  const headers = {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  };
  return respond(c, events, { headers });
}

/** NOT_FOUND for a method and path without a route for this caller. `remedy` says how to be allowed. */
export function routeProblem(c: Context<Env>, remedy = ''): Problem {
  return new Problem('NOT_FOUND', `there is no ${c.req.method} ${c.req.path}${remedy}`);
}

/** Turns an error into the answer. No other place does. */
export function answerProblem(c: Context<Env>, error: unknown): Response {
  const problem = asProblem(error);
  const served = c.get('served');
  served.problem = problem;
  const isOperator = served.caller !== undefined && served.caller.cluster === undefined;
  const document = {
    ...toDocument(problem, served.requestId),
    ...(isOperator && { detail: wordsForOperators(problem) }),
  };
  return respondJson(c, document, {
    status: document.status,
    headers: {
      'content-type': 'application/problem+json',
      ...(problem.retryAfterS !== undefined && { 'retry-after': String(problem.retryAfterS) }),
      ...(problem.code === 'UNAUTHENTICATED' && { 'www-authenticate': 'Bearer' }),
    },
  });
}

/** The maximum characters of a path in the log, because callers without a token can write there. */
const maxRoute = 512;

/** The outcome of a request. `status` and `durationMs` are absent if it was answered earlier. */
type RequestOutcome = {
  readonly problem: Problem | undefined;
  readonly code: string;
  readonly status?: number;
  readonly durationMs?: number;
};

/** Logs the outcome of a request, once, at the edge of the program. */
export function logRequest(
  c: Context<Env>,
  log: Log,
  { problem, code, status, durationMs }: RequestOutcome,
): void {
  const { requestId, traceparent, caller } = c.get('served');
  // An operation that a pool does not offer is no failure.
  const isOurs =
    problem !== undefined && problem.code !== 'UNIMPLEMENTED' && toDocument(problem).status >= 500;
  const stack = isOurs ? framesOf(problem.cause) : undefined;
  log[isOurs ? 'error' : 'info'](problem ? 'refused' : 'answered', {
    route: `${c.req.method} ${c.req.path}`.slice(0, maxRoute),
    requestId,
    traceId: traceIdOf(traceparent),
    code,
    status,
    durationMs,
    detail: problem && wordsForOperators(problem),
    cluster: caller && callerName(caller),
    stack,
  });
}
