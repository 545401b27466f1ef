import type { Column, Entry } from '../kind.ts';
import { readableNumbers } from './values.ts';

/**
 * Reads the order that a column decides, with a minus in front for the opposite order; undefined if there is no such
 * column. Entries without a value come last.
 */
export function readOrder(
  columns: readonly Column[],
  by: string,
): ((one: Entry, other: Entry) => number) | undefined {
  const [, dash, head] = /^(-?)(.*)$/.exec(by) ?? [];
  const column = columns.find(one => one.head === head);
  if (!column) return undefined;
  const byText = new Intl.Collator('en', { numeric: true });
  const view = { nowMs: Date.now(), numbers: readableNumbers };
  return (one, other) => {
    const [a, b] = [column.of(one, view), column.of(other, view)];
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
    const difference =
      typeof a === 'number' && typeof b === 'number' ? a - b : byText.compare(String(a), String(b));
    return dash ? -difference : difference;
  };
}
