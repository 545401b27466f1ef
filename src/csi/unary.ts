import type { handleUnaryCall, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { openCall, type Edge, type UnaryCall } from './call.ts';

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
  edge: Edge,
  handler: Unary<Request, Response>,
): handleUnaryCall<Request, Response> {
  const answer = async (
    call: ServerUnaryCall<Request, Response>,
    callback: sendUnaryData<Response>,
  ): Promise<void> => {
    const opened = openCall(edge, call, defaultTimeoutMs);
    try {
      callback(null, await handler(call.request, opened));
      opened.succeed();
    } catch (error) {
      callback(opened.fail(error));
    }
  };
  return (call, callback) => void answer(call, callback);
}
