import type { TestContext } from 'node:test';

/** A test, or another scope that reports its end. */
export type CleanupScope = Pick<TestContext, 'after'>;

const works = new WeakMap<CleanupScope, (() => unknown)[]>();

/** Runs work at the end of a test, the last added first. */
export function undoLast(t: CleanupScope, work: () => unknown): void {
  const known = works.get(t);
  if (known) known.push(work);
  else {
    const all = [work];
    works.set(t, all);
    t.after(async () => {
      for (const each of all.toReversed()) await each();
    });
  }
}
