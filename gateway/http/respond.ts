import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { asProblem, toDocument, type Problem } from '../../src/api/problem.ts';
import { framesOf } from '../../src/lib/frames.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { waitMsOf } from './request.ts';

/** What is known of each request: who asks, how it is named in logs, and its body, which is being read. */
export type Env = { Variables: { cluster: Cluster; requestId: string; body: Promise<string> } };

/** The outcome of work, or undefined when the caller does not want to wait so long; the work goes on then. */
export async function outcomeOf<T>(
  c: Context<Env>,
  work: Promise<T>,
  log: Log,
): Promise<{ readonly value: T } | undefined> {
  const { promise: patience, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), waitMsOf(c.req.header('prefer')));
  const outcome = await Promise.race([work.then(value => ({ value })), patience]).finally(() =>
    clearTimeout(timer),
  );
  if (!outcome) work.catch((error: unknown) => logProblem(c, asProblem(error), log));
  return outcome;
}

/** The answer while work goes on: the resource as it is now, if it is there. */
export function answerAccepted(c: Context<Env>, resource: object | undefined): Response {
  return resource ? c.json(resource, 202) : c.body(null, 202);
}

/** The one place where an error becomes an answer, and a line in the log. */
export function answerProblem(c: Context<Env>, error: unknown, log: Log): Response {
  const problem = asProblem(error);
  logProblem(c, problem, log);
  const document = toDocument(problem, c.get('requestId'));
  return c.body(JSON.stringify(document), document.status as ContentfulStatusCode, {
    'content-type': 'application/problem+json',
    ...(problem.code === 'UNAUTHENTICATED' && { 'www-authenticate': 'Bearer' }),
  });
}

function logProblem(c: Context<Env>, problem: Problem, log: Log): void {
  const document = toDocument(problem, c.get('requestId'));
  const cluster = (c.get('cluster') as Cluster | undefined)?.name;
  const stack = document.status >= 500 ? framesOf(problem.cause) : undefined;
  log[document.status >= 500 ? 'error' : 'info']('refused', {
    route: `${c.req.method} ${c.req.path}`,
    requestId: c.get('requestId'),
    code: problem.code,
    detail: problem.detail,
    ...(cluster !== undefined && { cluster }),
    ...(stack !== undefined && { stack }),
  });
}
