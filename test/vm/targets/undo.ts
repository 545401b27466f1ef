import type { TestContext } from 'node:test';

const works = new WeakMap<TestContext, (() => unknown)[]>();

/** Has work done at the end of a test: what was asked for last comes first. */
export function undoLast(t: TestContext, work: () => unknown): void {
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
