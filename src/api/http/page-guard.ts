import { byteLength } from '../ids.ts';
import { unavailableProblem } from '../problem.ts';

/** A list that is read page by page: its server's name for messages, and the maximum time for all pages. */
type GuardedList = { readonly from: string; readonly timeoutMs: number };

const maxEntries = 1_000_000;
/** Maximum consecutive pages without an entry. */
const maxEmptyPages = 100;
const maxTokenBytes = 4_096;

/**
 * Checks each page of a list before the next is requested. UNAVAILABLE for an endless list: its pages repeat, stay empty, have
 * too many entries, or take too long. Remembers only one page, however many there are.
 */
export function createPageGuard({ from, timeoutMs }: GuardedList) {
  const endsAtMs = Date.now() + timeoutMs;
  let [entries, emptyPages] = [0, 0];
  // Brent's cycle detection: the remembered page is replaced after 1, 2, 4, … pages.
  let [remembered, pages, replacedAfter] = ['', 0, 1];
  const requireThat = (holds: boolean, found: string): void => {
    if (!holds) throw unavailableProblem(`${from} has a list ${found}`);
  };
  return {
    /** Takes the number of entries of a page, and the token or offset of the next page if there is one. */
    judge(count: number, next: string | undefined): void {
      entries += count;
      emptyPages = count === 0 ? emptyPages + 1 : 0;
      requireThat(entries <= maxEntries, `of more than ${maxEntries} entries`);
      if (next === undefined) return;
      requireThat(byteLength(next) <= maxTokenBytes, `with a page token of more than ${maxTokenBytes} bytes`);
      requireThat(next !== remembered, 'whose pages come again');
      requireThat(emptyPages <= maxEmptyPages, `with more than ${maxEmptyPages} empty pages in a row`);
      requireThat(Date.now() < endsAtMs, `that does not end within ${timeoutMs / 1_000} s`);
      if (++pages < replacedAfter) return;
      [remembered, pages, replacedAfter] = [next, 0, 2 * replacedAfter];
    },
  };
}
