import { Problem } from '../../src/api/problem.ts';

/**
 * What the system refused on the way, such as EROFS or ENOSPC, as a `Problem` that says what was done, where, and how it
 * failed; anything else as it is.
 */
export function explainSystemError(error: unknown): unknown {
  if (error instanceof Problem || !(error instanceof Error)) return error;
  const { code, syscall, path } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return error;
  const place = path === undefined ? '' : ` of "${path}"`;
  return new Problem('UNAVAILABLE', `"${syscall}"${place} failed on this node: ${code}`, error);
}
