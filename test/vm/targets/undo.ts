import type { TestContext } from 'node:test';

const works = new WeakMap<TestContext, (() => void)[]>();

/** Has work done at the end of a test: what was asked for last comes first. */
export function undoLast(t: TestContext, work: () => void): void {
  const known = works.get(t);
  if (known) known.push(work);
  else {
    const all = [work];
    works.set(t, all);
    t.after(() => {
      for (const each of all.toReversed()) each();
    });
  }
}
