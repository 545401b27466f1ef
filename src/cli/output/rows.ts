import type { Column, Entry, View } from '../kind.ts';
import { readableNumbers, type Numbers } from './values.ts';

/** Makes a table of entries: the heads of the columns, and a row of cells for each entry. */
export function toRows(
  columns: readonly Column[],
  entries: readonly Entry[],
  numbers: Numbers = readableNumbers,
) {
  const view = { nowMs: Date.now(), numbers };
  const rows = entries.map(entry => columns.map(column => toCell(column, entry, view)));
  return { heads: columns.map(({ head }) => head), rows };
}

export function toCell(column: Column, entry: Entry, view: View): string {
  const value = column.of(entry, view);
  return typeof value === 'number' && column.unit ? view.numbers[column.unit](value) : String(value ?? '');
}

export function narrowOf(columns: readonly Column[]): readonly Column[] {
  return columns.filter(({ isWide }) => !isWide);
}
