import type { handleUnaryCall, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { asProblem } from '../api/problem.ts';
import type { Log } from '../lib/log.ts';
import { logProblem, openCall, toStatus, volumeOf, type UnaryCall } from './call.ts';

export type { UnaryCall } from './call.ts';

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
  const opened = openCall(call, defaultTimeoutMs);
  const { requestId } = opened;
  const told = () => ({
    rpc,
    requestId,
    ...volumeOf(call.request),
    durationMs: Math.round(performance.now() - startMs),
  });
  try {
    callback(null, await handler(call.request, opened));
    log.debug('answered', told());
  } catch (error) {
    const problem = asProblem(error);
    callback(toStatus(problem, requestId));
    logProblem(log, problem, told());
  }
}
