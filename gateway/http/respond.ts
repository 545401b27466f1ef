import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { asProblem, Problem, toDocument } from '../../src/api/problem.ts';
import { framesOf, type Log } from '../../src/lib/log.ts';
import { traceIdOf } from '../../src/lib/tracing/trace.ts';
import { callerName, type Caller } from '../tenancy/caller.ts';

/** What is known of each request: who asks, and how it is named in logs. */
export type Env = {
  Variables: { caller: Caller; requestId: string; traceparent: string; problem: Problem | undefined };
};

/** NOT_FOUND for a method on a path that is no route for the caller. */
export function routeProblem(c: Context<Env>): Problem {
  return new Problem('NOT_FOUND', `there is no ${c.req.method} ${c.req.path}`);
}

/** The one place where an error becomes an answer. */
export function answerProblem(c: Context<Env>, error: unknown): Response {
  const problem = asProblem(error);
  c.set('problem', problem);
  const document = toDocument(problem, c.get('requestId'));
  return c.body(JSON.stringify(document), document.status as ContentfulStatusCode, {
    'content-type': 'application/problem+json',
    ...(problem.retryAfterS !== undefined && { 'retry-after': String(problem.retryAfterS) }),
    ...(problem.code === 'UNAUTHENTICATED' && { 'www-authenticate': 'Bearer' }),
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
export function logRequest(c: Context<Env>, log: Log, { problem, ...ended }: Ended): void {
  const caller = c.get('caller') as Caller | undefined;
  const isOurs = problem !== undefined && toDocument(problem).status >= 500;
  const stack = isOurs ? framesOf(problem.cause) : undefined;
  log[isOurs ? 'error' : 'info'](problem ? 'refused' : 'answered', {
    route: `${c.req.method} ${c.req.path}`.slice(0, mostRoute),
    requestId: c.get('requestId'),
    traceId: traceIdOf(c.get('traceparent')),
    ...ended,
    ...(problem && { detail: problem.detail }),
    ...(caller !== undefined && { cluster: callerName(caller) }),
    ...(stack !== undefined && { stack }),
  });
}
