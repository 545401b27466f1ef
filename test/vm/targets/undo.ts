import type { TestContext } from 'node:test';

/** A test, or another scope that reports its end. */
export type CleanupScope = Pick<TestContext, 'after'>;

const works = new WeakMap<CleanupScope, (() => unknown)[]>();

/** Runs work at the end of a test, the last added first. Work that fails does not keep the rest from running. */
export function undoLast(t: CleanupScope, work: () => unknown): void {
  const known = works.get(t);
  if (known) known.push(work);
  else {
    const all = [work];
    works.set(t, all);
    t.after(async () => {
      const faults: unknown[] = [];
      for (const each of all.toReversed())
        try {
          await each();
        } catch (error) {
          faults.push(error);
        }
      if (faults.length > 0) throw faults[0];
    });
  }
}
