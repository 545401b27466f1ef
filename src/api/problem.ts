import type { Observation } from '../tracing/trace.ts';
import { toLines } from './http/printable.ts';

/** All errors by code: the gRPC number, the HTTP status (a hint), and the title. The code decides. */
export const problemTable = {
  CANCELLED: { grpc: 1, http: 499, title: 'the caller went away', final: false },
  INVALID_ARGUMENT: { grpc: 3, http: 400, title: 'the request is malformed or breaks a rule', final: true },
  DEADLINE_EXCEEDED: { grpc: 4, http: 504, title: 'not done in time; it may still be running', final: false },
  NOT_FOUND: { grpc: 5, http: 404, title: 'there is no such resource', final: true },
  ALREADY_EXISTS: { grpc: 6, http: 409, title: 'it exists already, with other properties', final: true },
  PERMISSION_DENIED: { grpc: 7, http: 403, title: 'the caller may not do this', final: true },
  RESOURCE_EXHAUSTED: { grpc: 8, http: 507, title: 'the pool, the quota or the node is full', final: true },
  FAILED_PRECONDITION: { grpc: 9, http: 409, title: 'the state of the resource forbids this', final: true },
  ABORTED: { grpc: 10, http: 409, title: 'another operation on the resource runs; try again', final: false },
  OUT_OF_RANGE: { grpc: 11, http: 416, title: 'the size or offset cannot be met', final: true },
  UNIMPLEMENTED: { grpc: 12, http: 501, title: 'this is not offered here', final: true },
  INTERNAL: { grpc: 13, http: 500, title: 'failed for good, with nothing left behind', final: true },
  UNAVAILABLE: { grpc: 14, http: 503, title: 'not done, or still running; try again', final: false },
  UNAUTHENTICATED: { grpc: 16, http: 401, title: 'a token or secret is missing or wrong', final: true },
} as const;

/** The name of a gRPC code. */
export type ProblemCode = keyof typeof problemTable;

/** The codes of a storage that failed or did not answer. */
export const failures: ReadonlySet<string> = new Set<ProblemCode>([
  'UNAVAILABLE',
  'DEADLINE_EXCEEDED',
  'INTERNAL',
]);

/** The ways in which a storage fails: no answer, errors in its answers, or answers of something else in its place. */
export const outages = ['silent', 'errors', 'foreign'] as const;
export type Outage = (typeof outages)[number];

/**
 * The only error class. `detail` is for people: lower case, with ids in quotes, and never a secret. It is cut to 4 KiB and
 * cleaned of control characters, since parts of it may come from other programs.
 */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly detail: string;
  /** The wait before the next try, in seconds; present if the callee is overloaded. */
  declare readonly retryAfterS?: number;
  /** The whole reason for operators, in logs and in their lists; present if `detail` leaves out addresses or files. */
  declare readonly reason?: string;
  /** The way in which the callee failed; absent: the failure is of the caller's own machine or token. */
  declare readonly outage?: Outage;

  constructor(code: ProblemCode, detail: string, cause?: unknown) {
    const printable = toLines(detail);
    super(printable, cause === undefined ? undefined : { cause });
    this.name = 'Problem';
    this.code = code;
    this.detail = printable;
  }

  /** Accepts problems of another copy of this package too, as in a plug-in. */
  static override [Symbol.hasInstance](value: unknown): value is Problem {
    return (
      Error.isError(value) && value.name === 'Problem' && Object.hasOwn(problemTable, Object(value).code)
    );
  }
}

/** INVALID_ARGUMENT: the request is malformed or breaks a rule. */
export const invalidProblem = makerOf('INVALID_ARGUMENT');
/** FAILED_PRECONDITION: the state of the resource or of the machine forbids the request. */
export const preconditionProblem = makerOf('FAILED_PRECONDITION');
/** UNAVAILABLE: not done, or still running; the caller tries again. */
export const unavailableProblem = makerOf('UNAVAILABLE');

/** Adds the way in which the callee failed to a problem. */
export function withOutage(problem: Problem, outage: Outage | undefined): Problem {
  return outage ? Object.assign(problem, { outage }) : problem;
}

/** UNAVAILABLE because of overload: nothing was started, and the caller is told when to try again. */
export function overloadedProblem(detail: string, retryAfterS: number): Problem {
  return Object.assign(unavailableProblem(detail), { retryAfterS });
}

function makerOf(code: ProblemCode) {
  return (detail: string, cause?: unknown) => new Problem(code, detail, cause);
}

/** Returns a `Problem` unchanged; any other error becomes UNAVAILABLE, because an unknown failure is never final. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem('UNAVAILABLE', 'unexpected failure; the operation may still be running', error);
}

/** Runs work and ends its observation with OK or with the code of its problem. */
export async function whileObserved<T>({ end }: Observation, work: () => Promise<T>): Promise<T> {
  try {
    const value = await work();
    end('OK');
    return value;
  } catch (error) {
    end(asProblem(error).code);
    throw error;
  }
}

/** The problem of work whose caller has gone away. One shared object, since each stack trace would cost time. */
export const callerGone = new Problem('CANCELLED', 'the caller went away');

/** The HTTP status of a problem with `retryAfterS`. */
export const tooManyRequests = 429;

/** Returns the words for operators, logs and the audit log. Clusters get `detail`. */
export function wordsForOperators({ reason, detail }: Problem): string {
  return reason ?? detail;
}

/** Makes the RFC 9457 document of a problem for HTTP; `code` decides, `status` is a hint. */
export function toDocument(problem: Problem, requestId?: string) {
  const { http, title } = problemTable[problem.code];
  return {
    type: `urn:fairlead:problem:${problem.code.toLowerCase().replaceAll('_', '-')}`,
    title,
    status: problem.retryAfterS === undefined ? http : tooManyRequests,
    code: problem.code,
    detail: problem.detail,
    ...(requestId !== undefined && { requestId }),
  };
}
