import type { TestContext } from 'node:test';

/** Where what a measurement started is left to be ended, as a test leaves it to its context. */
export type Scope = Pick<TestContext, 'after'>;

/** Runs `work` and then ends what was left to its scope, the last first, however it ended. */
export async function inScope<T>(work: (scope: Scope) => Promise<T>): Promise<T> {
  const ends: (() => unknown)[] = [];
  const scope = { after: (end: () => unknown) => void ends.push(end) } as Scope;
  try {
    return await work(scope);
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}
