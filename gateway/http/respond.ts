import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { asProblem, Problem, toDocument } from '../../src/api/problem.ts';
import { framesOf, type Log } from '../../src/lib/log.ts';
import { callerName, type Caller } from '../tenancy/caller.ts';
import { overloaded } from '../tenancy/turns.ts';

/** What is known of each request: who asks, and how it is named in logs. */
export type Env = { Variables: { caller: Caller; requestId: string } };

/** NOT_FOUND for a method on a path that is no route for the caller. */
export function routeProblem(c: Context<Env>): Problem {
  return new Problem('NOT_FOUND', `there is no ${c.req.method} ${c.req.path}`);
}

/** The one place where an error becomes an answer, and a line in the log. */
export function answerProblem(c: Context<Env>, error: unknown, log: Log): Response {
  const problem = asProblem(error);
  logProblem(c, problem, log);
  const document = toDocument(problem, c.get('requestId'));
  return c.body(JSON.stringify(document), document.status as ContentfulStatusCode, {
    'content-type': 'application/problem+json',
    ...(problem === overloaded && { 'retry-after': '1' }),
    ...(problem.code === 'UNAUTHENTICATED' && { 'www-authenticate': 'Bearer' }),
  });
}

/** So much of a path is logged, in characters: whoever has no token writes at most that. */
const mostRoute = 512;

/** Logs an error, once, where it leaves the program. */
export function logProblem(c: Context<Env>, problem: Problem, log: Log): void {
  const { code, detail, cause } = problem;
  const isOurs = toDocument(problem).status >= 500;
  const caller = c.get('caller') as Caller | undefined;
  const stack = isOurs ? framesOf(cause) : undefined;
  log[isOurs ? 'error' : 'info']('refused', {
    route: `${c.req.method} ${c.req.path}`.slice(0, mostRoute),
    requestId: c.get('requestId'),
    code,
    detail,
    ...(caller !== undefined && { cluster: callerName(caller) }),
    ...(stack !== undefined && { stack }),
  });
}
