import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  Metadata,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceError,
} from '@grpc/grpc-js';
import { maxIdBytes } from '../api/ids.ts';
import { asProblem, callerGone, invalidProblem, problemTable, type Problem } from '../api/problem.ts';
import { framesOf, type Log } from '../lib/log.ts';
import { readTraceparent, traceIdOf, type Observe } from '../lib/tracing/trace.ts';

/** What a handler knows of its call beside the request. */
export type UnaryCall = {
  /** When the caller gives up, in milliseconds since the epoch; a default where the caller set none. */
  readonly deadlineMs: number;
  /** Names the call in logs on both sides of the gateway, and in the trailers of an error. */
  readonly requestId: string;
  /** The trace that calls for this one are part of; absent where nobody observes. */
  readonly traceparent?: string | undefined;
  /** Aborted when the caller goes away. */
  readonly signal: AbortSignal;
};

/** One RPC: returns the response or throws a `Problem`. */
export type Unary<Request, Response> = (request: Request, call: UnaryCall) => Promise<Response>;

/** One RPC that answers with a stream: its regular end says that everything was sent, a `Problem` that it was not. */
export type Streaming<Request, Response> = (request: Request, call: UnaryCall) => AsyncIterable<Response>;

/** The handlers of a service; an RPC that is absent answers UNIMPLEMENTED. */
export type Handlers<Rpcs> = {
  readonly [K in keyof Rpcs as string extends K ? never : K]?: Rpcs[K] extends handleServerStreamingCall<
    infer Request,
    infer Response
  >
    ? Streaming<Request, Response>
    : Rpcs[K] extends handleUnaryCall<infer Request, infer Response>
      ? Unary<Request, Response>
      : never;
};

/** Which RPC, where it is logged, at which level when it succeeds, and who observes it by the code that it ends with. */
type Edge = {
  readonly rpc: string;
  readonly log: Log;
  readonly level: 'debug' | 'info';
  readonly observe: Observe | undefined;
};

const unaryTimeoutMs = 30_000;
/** A stream without a deadline goes on for as long as its caller listens, within what a timer can count. */
const streamTimeoutMs = 24 * 60 * 60 * 1_000;

/** The gRPC edge: turns what a handler throws into a status of code and message alone, and logs it once. */
export function toGrpcHandler(
  edge: Edge,
  handler: Unary<unknown, unknown>,
): handleUnaryCall<unknown, unknown> {
  return async (call, callback) => {
    const opened = openCall(edge, call, unaryTimeoutMs);
    try {
      callback(null, await handler(opened.read(), opened));
      opened.end('OK');
    } catch (error) {
      callback(opened.fail(error));
    }
  };
}

/** The gRPC edge of a stream: waits for a slow reader, and ends with a status when the handler throws. */
export function toGrpcStream(edge: Edge, handler: Streaming<unknown, unknown>) {
  return async (call: ServerWritableStream<unknown, unknown>): Promise<void> => {
    const opened = openCall(edge, call, streamTimeoutMs);
    const { signal } = opened;
    try {
      for await (const response of handler(opened.read(), opened)) {
        signal.throwIfAborted();
        if (!call.write(response)) await once(call, 'drain', { signal });
      }
      call.end();
      opened.end('OK');
    } catch (error) {
      if (signal.aborted) opened.end('CANCELLED');
      else call.emit('error', opened.fail(error));
    }
  };
}

/** Begins a call; one without a deadline ends after `defaultTimeoutMs`. `end` or `fail` is called once, at its end. */
function openCall(
  { rpc, log, level, observe }: Edge,
  call: ServerUnaryCall<unknown, unknown>,
  defaultTimeoutMs: number,
) {
  const startMs = performance.now();
  const observed = observe?.(rpc, readTraceparent(String(call.metadata.get('traceparent')[0])));
  const traceparent = observed?.traceparent;
  const abort = new AbortController();
  const cancel = (): void => abort.abort(callerGone);
  call.on('cancelled', cancel);
  if (call.cancelled) cancel();
  const deadlineMs = Number(call.getDeadline());
  const requestId = randomUUID().slice(-12);
  let request: unknown;
  const describe = () => ({
    rpc,
    requestId,
    ...(traceparent !== undefined && { traceId: traceIdOf(traceparent) }),
    ...volumeOf(request),
    durationMs: Math.round(performance.now() - startMs),
  });
  return {
    deadlineMs: Number.isFinite(deadlineMs) ? deadlineMs : Date.now() + defaultTimeoutMs,
    requestId,
    traceparent,
    signal: abort.signal,
    /** The request; INVALID_ARGUMENT for bytes that are none. */
    read(): unknown {
      try {
        request = (call.request as () => unknown)();
        return request;
      } catch (error) {
        throw invalidProblem('the request is malformed, or has text that is not UTF-8 or has a NUL', error);
      }
    },
    end(code: 'OK' | 'CANCELLED') {
      observed?.end(code);
      if (code === 'OK') log[level]('answered', describe());
    },
    /** Logs what was thrown, once, where it leaves the program, and returns it as a status. */
    fail(error: unknown): ServiceError {
      const problem = asProblem(error);
      const { code, detail, cause } = problem;
      observed?.end(code);
      const stack = code === 'UNAVAILABLE' ? framesOf(cause) : undefined;
      const found = { code, detail: shorten(detail), ...(stack !== undefined && { stack }) };
      log.warn('refused', { ...describe(), ...found });
      return toStatus(problem, requestId);
    },
  };
}

/** The volume that a request names, as a field of a log line; no good id has more characters than that. */
function volumeOf(request: unknown): { readonly volumeId?: string } {
  const { volume_id: volumeId } = (request ?? {}) as { readonly volume_id?: unknown };
  if (typeof volumeId !== 'string' || volumeId === '') return {};
  return { volumeId: volumeId.slice(0, maxIdBytes) };
}

/** Most characters of a status's message. */
const maxDetailLength = 1_024;

/**
 * A status of code and message alone. The message travels in a header: it is short, and of characters that a header can
 * be made of. The same failure has the same message, since Kubernetes joins only equal ones to one Event: the request's
 * id is a trailer.
 */
function toStatus(problem: Problem, requestId: string): ServiceError {
  const details = shorten(problem.detail).toWellFormed();
  const metadata = new Metadata();
  metadata.set('x-request-id', requestId);
  return Object.assign(new Error(details), { code: problemTable[problem.code].grpc, details, metadata });
}

function shorten(detail: string): string {
  return detail.length <= maxDetailLength ? detail : `${detail.slice(0, maxDetailLength - 1)}…`;
}
