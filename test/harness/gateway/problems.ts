import { Problem, type ProblemCode } from '../../../src/api/problem.ts';

/** Returns a predicate for `assert.rejects`: true for a `Problem` with one of these codes. */
export function isProblem(...codes: readonly ProblemCode[]): (error: unknown) => boolean {
  return error => error instanceof Problem && codes.includes(error.code);
}

/** Returns a predicate for `assert.rejects`: true for a `Problem` with this code and a matching detail. */
export function isProblemThat(code: ProblemCode, detail: RegExp): (error: unknown) => boolean {
  return error => error instanceof Problem && error.code === code && detail.test(error.detail);
}
