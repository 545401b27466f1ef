import { Problem, type ProblemCode } from '../../src/api/problem.ts';

/** For `assert.rejects`: a `Problem` with one of these codes. */
export function isProblem(...codes: readonly ProblemCode[]): (error: unknown) => boolean {
  return error => error instanceof Problem && codes.includes(error.code);
}

/** For `assert.rejects`: a `Problem` with this code whose detail matches. */
export function isProblemThat(code: ProblemCode, detail: RegExp): (error: unknown) => boolean {
  return error => error instanceof Problem && error.code === code && detail.test(error.detail);
}
