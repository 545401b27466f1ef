import type { Context } from 'hono';
import type { OperationId } from '../../src/api/operations.ts';
import type { Problem } from '../../src/api/problem.ts';
import type { Log } from '../../src/lib/log.ts';
import { newTraceparent, readTraceparent } from '../../src/tracing/trace.ts';
import type { Metrics } from '../observability/metrics.ts';
import { answerProblem, logRequest, toRequestState, type Env, type RouteHandler } from './respond.ts';

export type RequestObserver = Pick<Metrics, 'observeRequest' | 'countRefusedToken'>;

/** Observes the requests of an operation, or of none (`other`). */
type OperationObserver = (operation: OperationId | 'other', serve: RouteHandler) => RouteHandler;

/** Wraps handlers: observes each request by operation and code, answers errors as problems, and logs the request. */
export function observeRequests(log: Log, observer: RequestObserver | undefined): OperationObserver {
  return (operation, serve) => async c => {
    const startMs = performance.now();
    const incoming = readTraceparent(c.req.header('traceparent'));
    const observed = observer?.observeRequest(operation, incoming);
    const traceparent = observed?.traceparent ?? incoming ?? newTraceparent();
    c.set('served', toRequestState(c, traceparent));
    let response: Response;
    try {
      response = await serve(c);
    } catch (error) {
      response = answerProblem(c, error);
    }
    const { problem } = c.get('served');
    const { status } = response;
    const code = problem?.code ?? (status === 202 ? 'ACCEPTED' : 'OK');
    observed?.end(code);
    if (problem?.code === 'UNAUTHENTICATED') observer?.countRefusedToken(reasonOf(c, problem));
    logRequest(c, log, { problem, code, status, durationMs: Math.round(performance.now() - startMs) });
    return response;
  };
}

/** Labels for refused tokens, by jose's error code; few, since they are labels. */
const reasons: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: 'expired',
  ERR_JWT_CLAIM_VALIDATION_FAILED: 'claim',
  ERR_JOSE_ALG_NOT_ALLOWED: 'key',
  ERR_JWKS_NO_MATCHING_KEY: 'key',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'key',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'signature',
};

function reasonOf(c: Context<Env>, { cause }: Problem): string {
  if (c.req.header('authorization') === undefined) return 'missing';
  const { code = '' } = (cause ?? {}) as { readonly code?: string };
  return reasons[code] ?? 'other';
}
