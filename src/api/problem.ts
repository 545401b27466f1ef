import type { Observed } from '../lib/tracing/trace.ts';

/** Every error by its code, which decides: the gRPC number, the HTTP status (a hint), when it is used. */
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

/** The name of an error: a gRPC code's name. */
export type ProblemCode = keyof typeof problemTable;

/** The one error class. `detail` is meant for people: lower case, ids quoted, what was found; never a secret. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly detail: string;
  /** In how many seconds to come again, where there is too much to do now. */
  declare readonly retryAfterS?: number;

  constructor(code: ProblemCode, detail: string, cause?: unknown) {
    super(detail, cause === undefined ? undefined : { cause });
    this.name = 'Problem';
    this.code = code;
    this.detail = detail;
  }

  /** One of another copy of this package, as a plug-in may have it, is a problem as well. */
  static override [Symbol.hasInstance](value: unknown): value is Problem {
    return (
      Error.isError(value) && value.name === 'Problem' && Object.hasOwn(problemTable, Object(value).code)
    );
  }
}

/** INVALID_ARGUMENT: the request is malformed or breaks a rule. */
export const invalidProblem = makerOf('INVALID_ARGUMENT');
/** FAILED_PRECONDITION: the state of the resource or of the machine forbids what is asked. */
export const preconditionProblem = makerOf('FAILED_PRECONDITION');
/** UNAVAILABLE: not done, or still running; the caller tries again. */
export const unavailableProblem = makerOf('UNAVAILABLE');

/** UNAVAILABLE, not begun: there is too much to do now, and whoever asks is told when to come again. */
export function overloadedProblem(detail: string, retryAfterS: number): Problem {
  return Object.assign(unavailableProblem(detail), { retryAfterS });
}

function makerOf(code: ProblemCode) {
  return (detail: string, cause?: unknown) => new Problem(code, detail, cause);
}

/** A `Problem` as it is; anything else becomes UNAVAILABLE, because a failure that nobody named is never final. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem('UNAVAILABLE', 'unexpected failure; the operation may still be running', error);
}

/** Runs work that is observed: its code is that of its problem, or OK. */
export async function whileObserved<T>({ end }: Observed, work: () => Promise<T>): Promise<T> {
  try {
    const value = await work();
    end('OK');
    return value;
  } catch (error) {
    end(asProblem(error).code);
    throw error;
  }
}

/** Why work ends when its caller is gone; every call ends so, and one problem for all costs no stack trace each. */
export const callerGone = new Problem('CANCELLED', 'the caller went away');

/** The status of a problem that says when to come again. */
export const tooManyRequests = 429;

/** The problem as the RFC 9457 document that goes over HTTP; `code` decides, `status` is a hint. */
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
