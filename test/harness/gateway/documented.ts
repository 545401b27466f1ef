import assert from 'node:assert/strict';
import { allOperations, problemSchema, problemsOf } from '../../../src/api/operations.ts';
import { problemTable, tooManyRequests, type ProblemCode } from '../../../src/api/problem.ts';

/**
 * Fails unless the answer is documented in its operation's row: the status with its body and the requested fields, or
 * one of the operation's problems.
 */
export function requireDocumented(
  method: string,
  path: string,
  { status, value }: { readonly status: number; readonly value: unknown },
): void {
  const { pathname } = new URL(path, 'http://gateway');
  const operation = allOperations.find(
    row =>
      row.method === method && new RegExp(`^${row.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(pathname),
  );
  const said = `${method} ${path} answers ${status} ${JSON.stringify(value)}`;
  if (status >= 400) {
    const { code } = problemSchema.parse(value);
    const isLater = status === tooManyRequests && code === 'UNAVAILABLE';
    assert.ok(isLater || problemTable[code].http === status, said);
    const known: readonly ProblemCode[] = operation
      ? problemsOf(operation)
      : ['UNAUTHENTICATED', 'NOT_FOUND'];
    assert.ok(known.includes(code), `${said}, which ${operation?.id} does not document`);
    return;
  }
  const schema = operation?.answers[status as 200];
  assert.ok(schema !== undefined, `${said}, which is not documented`);
  if (value === undefined) assert.ok(schema === null || status === 202, said);
  else schema?.parse(value);
}
