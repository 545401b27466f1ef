/** Rows of text as columns for people; the first row holds the heads. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)));
  return rows
    .map(row =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A duration in its largest unit, such as 3h. */
export function toAge(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
  ] as const;
  const [unit, unitMs] = units.find(([, least]) => ms >= least) ?? ['s', 1_000];
  return `${Math.floor(ms / unitMs)}${unit}`;
}
