import type { Context } from 'hono';
import { asProblem, Problem, toDocument } from '../../src/api/problem.ts';
import { framesOf, type Log } from '../../src/lib/log.ts';
import { traceIdOf } from '../../src/lib/tracing/trace.ts';
import { callerName, type Caller } from '../tenancy/caller.ts';

/** What is known of a request: how it is named in logs, who asks once that is proved, and why it was refused. */
export type Served = {
  readonly requestId: string;
  readonly traceparent: string;
  caller: Caller | undefined;
  problem: Problem | undefined;
};

/** What goes with each request on its way. */
export type Env = { Variables: { served: Served } };

/** Answers a request; what it throws is answered as a problem. */
export type Serve = (c: Context<Env>) => Response | Promise<Response>;

/** By which a caller may name its request, and by which the answer does. */
const requestIdHeader = 'x-request-id';
/** What a caller may name its request; another name is not taken. */
const requestIdPattern = /^[\w=-]{1,64}$/;

/** What is known of a request that has just come. */
export function toServed(c: Context<Env>, traceparent: string): Served {
  const asked = c.req.header(requestIdHeader);
  const requestId = asked !== undefined && requestIdPattern.test(asked) ? asked : crypto.randomUUID();
  return { requestId, traceparent, caller: undefined, problem: undefined };
}

/** What an answer has beside its body; 200 unless given. */
type Head = { readonly status?: number; readonly headers?: Readonly<Record<string, string>> };

/** An answer that names its request. Its headers stay a plain object, which the server writes as it is. */
export function respond(
  c: Context<Env>,
  body: string | null,
  { status = 200, headers }: Head = {},
): Response {
  return new Response(body, {
    status,
    headers: { [requestIdHeader]: c.get('served').requestId, ...headers },
  });
}

/** The same, with a body of JSON. */
export function respondJson(c: Context<Env>, value: object, { status, headers }: Head = {}): Response {
  return respond(c, JSON.stringify(value), {
    ...(status !== undefined && { status }),
    headers: { 'content-type': 'application/json', ...headers },
  });
}

/** NOT_FOUND for a method on a path that is no route for the caller. */
export function routeProblem(c: Context<Env>): Problem {
  return new Problem('NOT_FOUND', `there is no ${c.req.method} ${c.req.path}`);
}

/** The one place where an error becomes an answer. */
export function answerProblem(c: Context<Env>, error: unknown): Response {
  const problem = asProblem(error);
  const served = c.get('served');
  served.problem = problem;
  const document = toDocument(problem, served.requestId);
  return respondJson(c, document, {
    status: document.status,
    headers: {
      'content-type': 'application/problem+json',
      ...(problem.retryAfterS !== undefined && { 'retry-after': String(problem.retryAfterS) }),
      ...(problem.code === 'UNAUTHENTICATED' && { 'www-authenticate': 'Bearer' }),
    },
  });
}

/** So much of a path is logged, in characters: whoever has no token writes at most that. */
const mostRoute = 512;

/** How a request ended: with a problem or well, and after what time, where it was answered now. */
type Ended = {
  readonly problem: Problem | undefined;
  readonly code: string;
  readonly status?: number;
  readonly durationMs?: number;
};

/** Logs how a request ended, once, where it leaves the program. */
export function logRequest(c: Context<Env>, log: Log, { problem, code, status, durationMs }: Ended): void {
  const { requestId, traceparent, caller } = c.get('served');
  const isOurs = problem !== undefined && toDocument(problem).status >= 500;
  const stack = isOurs ? framesOf(problem.cause) : undefined;
  log[isOurs ? 'error' : 'info'](problem ? 'refused' : 'answered', {
    route: `${c.req.method} ${c.req.path}`.slice(0, mostRoute),
    requestId,
    traceId: traceIdOf(traceparent),
    code,
    status,
    durationMs,
    detail: problem?.detail,
    cluster: caller && callerName(caller),
    stack,
  });
}
