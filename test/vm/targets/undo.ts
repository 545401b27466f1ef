import type { TestContext } from 'node:test';

/** What tells when it is over: a test, or what is like one. */
export type Ending = Pick<TestContext, 'after'>;

const works = new WeakMap<Ending, (() => unknown)[]>();

/** Has work done at the end of a test: what was asked for last comes first. */
export function undoLast(t: Ending, work: () => unknown): void {
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
