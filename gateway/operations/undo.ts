import { asProblem, Problem } from '../../src/api/problem.ts';

/** Undoes work that has failed for good; UNAVAILABLE when it cannot, for something may be left that a retry must find. */
export async function undoOrRetry(undo: () => Promise<unknown>): Promise<void> {
  try {
    await undo();
  } catch (error) {
    throw new Problem(
      'UNAVAILABLE',
      `what was begun cannot be undone yet: ${asProblem(error).detail}`,
      error,
    );
  }
}
