import { once } from 'node:events';
import type { handleServerStreamingCall, ServerWritableStream } from '@grpc/grpc-js';
import { openCall, type Edge, type UnaryCall } from './call.ts';

/** One RPC that answers with a stream: its regular end says that everything was sent, a `Problem` that it was not. */
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
  edge: Edge,
  handler: Streaming<Request, Response>,
): handleServerStreamingCall<Request, Response> {
  const answer = async (call: ServerWritableStream<Request, Response>): Promise<void> => {
    const opened = openCall(edge, call, defaultTimeoutMs);
    const { signal } = opened;
    try {
      for await (const response of handler(call.request, opened)) {
        signal.throwIfAborted();
        if (!call.write(response)) await once(call, 'drain', { signal });
      }
      call.end();
      opened.succeed();
    } catch (error) {
      if (signal.aborted) opened.leave();
      else call.emit('error', opened.fail(error));
    }
  };
  return call => void answer(call);
}
