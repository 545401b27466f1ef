import { randomBytes } from 'node:crypto';
import {
  Metadata,
  type handleUnaryCall,
  type ServerUnaryCall,
  type ServiceError,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { asProblem, problemTable, type Problem } from '../api/problem.ts';
import type { Log } from '../lib/log.ts';

/** What a handler knows of its call beside the request. */
export type UnaryCall = {
  /** When the caller gives up, in milliseconds since the epoch; a default where the caller set none. */
  readonly deadlineMs: number;
  /** Names the call in logs and in errors, on both sides of the gateway. */
  readonly requestId: string;
  /** Aborted when the caller goes away. */
  readonly signal: AbortSignal;
};

/** One RPC: returns the response or throws a `Problem`. */
export type Unary<Request, Response> = (request: Request, call: UnaryCall) => Promise<Response>;

/** The handlers of a service, each as a `Unary`; an RPC that is absent answers UNIMPLEMENTED. */
export type UnaryHandlers<Handlers> = {
  readonly [K in keyof Handlers as string extends K ? never : K]?: Handlers[K] extends handleUnaryCall<
    infer Request,
    infer Response
  >
    ? Unary<Request, Response>
    : never;
};

const defaultTimeoutMs = 30_000;
/** Most characters of a status's message. */
const maxDetailLength = 1_024;

/**
 * The gRPC edge: turns what a handler throws into a status, and logs it once. The status carries code and message
 * alone (CSI spec, "Error Scheme").
 */
export function toGrpcHandler<Request, Response>(
  rpc: string,
  handler: Unary<Request, Response>,
  log: Log,
): handleUnaryCall<Request, Response> {
  return (call, callback) => {
    void answer({ rpc, handler, log }, call, callback);
  };
}

type Edge<Request, Response> = {
  readonly rpc: string;
  readonly handler: Unary<Request, Response>;
  readonly log: Log;
};

async function answer<Request, Response>(
  { rpc, handler, log }: Edge<Request, Response>,
  call: ServerUnaryCall<Request, Response>,
  callback: sendUnaryData<Response>,
): Promise<void> {
  const startMs = performance.now();
  const requestId = randomBytes(6).toString('hex');
  const abort = new AbortController();
  call.on('cancelled', () => abort.abort());
  if (call.cancelled) abort.abort();
  try {
    const response = await handler(call.request, {
      deadlineMs: deadlineOf(call),
      requestId,
      signal: abort.signal,
    });
    callback(null, response);
    log.debug('answered', { rpc, requestId, durationMs: Math.round(performance.now() - startMs) });
  } catch (error) {
    const problem = asProblem(error);
    callback(toStatus(problem, requestId));
    logProblem(log, problem, { rpc, requestId, durationMs: Math.round(performance.now() - startMs) });
  }
}

function deadlineOf(call: ServerUnaryCall<unknown, unknown>): number {
  const deadlineMs = Number(call.getDeadline());
  return Number.isFinite(deadlineMs) ? deadlineMs : Date.now() + defaultTimeoutMs;
}

/** The message travels in a header: it is kept short, and of characters that a header can be made of. */
function toStatus(problem: Problem, requestId: string): ServiceError {
  const detail = shorten(problem.detail).toWellFormed();
  const details = problem.detail.includes('(request ') ? detail : `${detail} (request ${requestId})`;
  return Object.assign(new Error(details), {
    code: problemTable[problem.code].grpc,
    details,
    metadata: new Metadata(),
  });
}

/** The middle of what is too long is left out, so that a request's id at its end stays. */
function shorten(detail: string): string {
  if (detail.length <= maxDetailLength) return detail;
  return `${detail.slice(0, maxDetailLength - 101)}…${detail.slice(-100)}`;
}

type CallFields = { readonly rpc: string; readonly requestId: string; readonly durationMs: number };

function logProblem(log: Log, problem: Problem, fields: CallFields): void {
  const { code, detail, cause } = problem;
  const stack = code === 'UNAVAILABLE' && cause instanceof Error ? cause.stack : undefined;
  log.warn('refused', { ...fields, code, detail: shorten(detail), ...(stack !== undefined && { stack }) });
}
