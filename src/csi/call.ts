import { randomUUID } from 'node:crypto';
import { Metadata, type ServiceError } from '@grpc/grpc-js';
import { Problem, problemTable } from '../api/problem.ts';
import { framesOf } from '../lib/frames.ts';
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

/** What a call of gRPC has of use here. */
type GrpcCall = {
  readonly cancelled: boolean;
  getDeadline(): Date | number;
  on(event: 'cancelled', listener: () => void): unknown;
};

/** What is told of a call in logs. */
export type CallFields = {
  readonly rpc: string;
  readonly requestId: string;
  readonly volumeId?: string;
  readonly durationMs: number;
};

/** Every call ends in `cancelled`, answered ones too: one reason for all costs no stack trace each. */
const callerGone = new Problem('CANCELLED', 'the caller went away');

/** Most characters of an id in a log: no good one has more. */
const maxIdLength = 128;

/** The volume that a request names, as a field of a log line; none where it names none. */
export function volumeOf(request: unknown): Pick<CallFields, 'volumeId'> {
  const { volume_id: volumeId } = request as { readonly volume_id?: unknown };
  if (typeof volumeId !== 'string' || volumeId === '') return {};
  return { volumeId: volumeId.slice(0, maxIdLength) };
}

/** Most characters of a status's message. */
const maxDetailLength = 1_024;

/** A call as handlers know it; one without a deadline ends after `defaultTimeoutMs`. */
export function openCall(call: GrpcCall, defaultTimeoutMs: number): UnaryCall {
  const abort = new AbortController();
  const cancel = (): void => abort.abort(callerGone);
  call.on('cancelled', cancel);
  if (call.cancelled) cancel();
  const deadlineMs = Number(call.getDeadline());
  return {
    deadlineMs: Number.isFinite(deadlineMs) ? deadlineMs : Date.now() + defaultTimeoutMs,
    requestId: randomUUID().slice(-12),
    signal: abort.signal,
  };
}

/** A status of code and message alone. The message travels in a header: it is kept short, and of characters that a header can be made of. */
export function toStatus(problem: Problem, requestId: string): ServiceError {
  const detail = shorten(problem.detail).toWellFormed();
  const details = problem.detail.includes('(request ') ? detail : `${detail} (request ${requestId})`;
  return Object.assign(new Error(details), {
    code: problemTable[problem.code].grpc,
    details,
    metadata: new Metadata(),
  });
}

/** Logs an error, once, where it leaves the program. */
export function logProblem(log: Log, problem: Problem, fields: CallFields): void {
  const { code, detail, cause } = problem;
  const stack = code === 'UNAVAILABLE' ? framesOf(cause) : undefined;
  log.warn('refused', { ...fields, code, detail: shorten(detail), ...(stack !== undefined && { stack }) });
}

/** The middle of what is too long is left out, so that a request's id at its end stays. */
function shorten(detail: string): string {
  if (detail.length <= maxDetailLength) return detail;
  return `${detail.slice(0, maxDetailLength - 101)}…${detail.slice(-100)}`;
}
