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
import { readTraceparent, traceIdOf, type Observer } from '../tracing/trace.ts';

/** The context of one call, beside its request. */
export type UnaryCall = {
  /** The caller's deadline, in milliseconds since the epoch. A caller that sets none gets a default. */
  readonly deadlineMs: number;
  /** The call's id in logs on both sides of the gateway, and in the trailers of an error. */
  readonly requestId: string;
  /** The trace that outgoing calls for this one join. Absent when no tracer runs. */
  readonly traceparent?: string | undefined;
  /** Aborted when the caller goes away. */
  readonly signal: AbortSignal;
};

/** One RPC: returns the response or throws a `Problem`. */
export type UnaryHandler<Request, Response> = (request: Request, call: UnaryCall) => Promise<Response>;

/** One RPC that answers with a stream: its regular end says that everything was sent, a `Problem` that it was not. */
export type StreamHandler<Request, Response> = (request: Request, call: UnaryCall) => AsyncIterable<Response>;

/** The handlers of a service; an RPC that is absent answers UNIMPLEMENTED. */
export type Handlers<Rpcs> = {
  readonly [K in keyof Rpcs as string extends K ? never : K]?: Rpcs[K] extends handleServerStreamingCall<
    infer Request,
    infer Response
  >
    ? StreamHandler<Request, Response>
    : Rpcs[K] extends handleUnaryCall<infer Request, infer Response>
      ? UnaryHandler<Request, Response>
      : never;
};

/** The name of an RPC, its logger, the log level of a success, and the observer that learns its final code. */
type Edge = {
  readonly rpc: string;
  readonly log: Log;
  readonly level: 'debug' | 'info';
  readonly observe: Observer | undefined;
};

const unaryTimeoutMs = 30_000;
/** A stream without a deadline runs for as long as its caller reads, within the range of a timer. */
const streamTimeoutMs = 24 * 60 * 60 * 1_000;

/** Wraps a handler as a gRPC method. A thrown error becomes a status of code and message alone, and is logged once. */
export function toGrpcHandler(
  edge: Edge,
  handler: UnaryHandler<unknown, unknown>,
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

/**
 * Wraps a streaming handler as a gRPC method. It waits for a slow reader, and ends with a status when the handler
 * throws.
 */
export function toGrpcStream(edge: Edge, handler: StreamHandler<unknown, unknown>) {
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

/**
 * Opens a call. A call without a deadline ends after `defaultTimeoutMs`. The caller calls `end` or `fail` exactly
 * once.
 */
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
    /** Decodes the request. INVALID_ARGUMENT for malformed bytes. */
    read(): unknown {
      try {
        request = (call.request as () => unknown)();
        return request;
      } catch (error) {
        throw invalidProblem(
          'the request is not a valid protobuf message, or has text that is not UTF-8 or contains NUL',
          error,
        );
      }
    },
    end(code: 'OK' | 'CANCELLED') {
      observed?.end(code);
      if (code === 'OK') log[level]('answered', describe());
    },
    /** Logs the error once, at the edge of the program, and returns it as a status. */
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

/** The request's volume id as a field of a log line, cut to the length of the longest valid id. */
function volumeOf(request: unknown): { readonly volumeId?: string } {
  const { volume_id: volumeId } = (request ?? {}) as { readonly volume_id?: unknown };
  if (typeof volumeId !== 'string' || volumeId === '') return {};
  return { volumeId: volumeId.slice(0, maxIdBytes) };
}

const maxDetailLength = 1_024;

/**
 * Makes a status of code and message alone. The message travels in an HTTP header, so it is short and well-formed.
 * Equal failures have equal messages, because Kubernetes merges only equal ones into one Event; the request's id is
 * therefore a trailer.
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
