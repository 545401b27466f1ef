import { Problem } from '../../../src/api/problem.ts';

/** What went wrong with a file, told by the system's code; `what` names it, such as `the image of volume "a.x"`. */
export function toProblem(error: unknown, what: string): Problem {
  if (error instanceof Problem) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Problem('RESOURCE_EXHAUSTED', `the filesystem of the images is full (${code})`, error);
  if (code === 'EFBIG')
    return new Problem(
      'OUT_OF_RANGE',
      'the filesystem of the images does not take files of this size',
      error,
    );
  return new Problem('UNAVAILABLE', `cannot make ${what} (${code ?? 'unknown error'})`, error);
}

/** For `catch`: undefined when the file is not there. */
export function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  return undefined;
}
