import { toPrintable } from '../../api/http/printable.ts';

/** Writes rows as CSV (RFC 4180), with one line for each row. */
export function toCsv(rows: readonly (readonly string[])[]): string {
  return rows.map(row => `${row.map(toField).join(',')}\n`).join('');
}

function toField(cell: string): string {
  const plain = toPrintable(cell, Infinity);
  return /[",]|^\s|\s$/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
