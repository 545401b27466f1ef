import { once } from 'node:events';
import type { handleServerStreamingCall, ServerWritableStream } from '@grpc/grpc-js';
import { asProblem } from '../api/problem.ts';
import type { Log } from '../lib/log.ts';
import { logProblem, openCall, toStatus, type UnaryCall } from './call.ts';

/** One RPC that answers with a stream: its regular end says that everything was told, a `Problem` that it was not. */
export type Streaming<Request, Response> = (request: Request, call: UnaryCall) => AsyncIterable<Response>;

/** The handlers of a service, each as a `Streaming`; an RPC that is absent answers UNIMPLEMENTED. */
export type StreamingHandlers<Handlers> = {
  readonly [
    K in keyof Handlers as string extends K ? never : K
  ]?: Handlers[K] extends handleServerStreamingCall<infer Request, infer Response>
    ? Streaming<Request, Response>
    : never;
};

/** A stream without a deadline goes on for as long as its caller listens, within what a timer can count. */
const defaultTimeoutMs = 24 * 60 * 60 * 1_000;

/** The gRPC edge of a stream: waits for a slow reader, and ends with a status when the handler throws. */
export function toGrpcStream<Request, Response>(
  rpc: string,
  handler: Streaming<Request, Response>,
  log: Log,
): handleServerStreamingCall<Request, Response> {
  return call => {
    void answer({ rpc, handler, log }, call);
  };
}

type Edge<Request, Response> = {
  readonly rpc: string;
  readonly handler: Streaming<Request, Response>;
  readonly log: Log;
};

async function answer<Request, Response>(
  { rpc, handler, log }: Edge<Request, Response>,
  call: ServerWritableStream<Request, Response>,
): Promise<void> {
  const startMs = performance.now();
  const opened = openCall(call, defaultTimeoutMs);
  const { requestId, signal } = opened;
  try {
    for await (const response of handler(call.request, opened)) {
      if (signal.aborted) return;
      if (!call.write(response)) await once(call, 'drain', { signal });
    }
    call.end();
    log.debug('answered', { rpc, requestId, durationMs: Math.round(performance.now() - startMs) });
  } catch (error) {
    if (signal.aborted) return;
    const problem = asProblem(error);
    call.emit('error', toStatus(problem, requestId));
    logProblem(log, problem, { rpc, requestId, durationMs: Math.round(performance.now() - startMs) });
  }
}
