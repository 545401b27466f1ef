import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { allOperations } from '../../src/api/operations.ts';
import type { Log } from '../../src/lib/log.ts';
import { newTraceparent, readTraceparent } from '../../src/lib/tracing/trace.ts';
import type { Metrics } from '../observability/metrics.ts';
import { logRequest, type Env } from './respond.ts';

/** What observes requests. */
export type RequestObserver = Pick<Metrics, 'observeRequest' | 'countRefusedToken'>;

/** The path of an operation as routes have it. */
export function toRoute(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

const operationIds = new Map(allOperations.map(({ id, method, path }) => [`${method} ${toRoute(path)}`, id]));

/** Observes each request by its operation (`other` for what is none) and its code, and writes its line in the log. */
export function observeRequests(log: Log, observer: RequestObserver | undefined): MiddlewareHandler<Env> {
  return async (c, next) => {
    const startMs = performance.now();
    const asked = readTraceparent(c.req.header('traceparent'));
    const observed = observer?.observeRequest(operationOf(c), asked);
    c.set('traceparent', observed?.traceparent ?? asked ?? newTraceparent());
    await next();
    const problem = c.get('problem');
    const { status } = c.res;
    const code = problem?.code ?? (status === 202 ? 'ACCEPTED' : 'OK');
    observed?.end(code);
    if (problem?.code === 'UNAUTHENTICATED') observer?.countRefusedToken(reasonOf(c));
    logRequest(c, log, { problem, code, status, durationMs: Math.round(performance.now() - startMs) });
  };
}

function operationOf(c: Context<Env>): string {
  return operationIds.get(`${c.req.method} ${matchedRoutes(c).at(-1)?.path}`) ?? 'other';
}

/** Few words, by what the check of tokens found: they are labels. */
const reasons: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: 'expired',
  ERR_JWT_CLAIM_VALIDATION_FAILED: 'claim',
  ERR_JOSE_ALG_NOT_ALLOWED: 'key',
  ERR_JWKS_NO_MATCHING_KEY: 'key',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'key',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'signature',
};

function reasonOf(c: Context<Env>): string {
  if (c.req.header('authorization') === undefined) return 'missing';
  const { code = '' } = (c.get('problem')?.cause ?? {}) as { readonly code?: string };
  return reasons[code] ?? 'other';
}
