/** One measured figure beside the floor that the same run measured. */
export type Figure = {
  readonly name: string;
  readonly value: number;
  readonly unit: 'ms' | 'MB' | '/s';
  /** What the same machine does at best, and what that is. */
  readonly floor?: { readonly name: string; readonly value: number };
  /** What we want to reach, as text. */
  readonly target?: string;
};

/** One benchmark: its name for --only, what it measures, and the measuring. */
export type Bench = {
  readonly name: string;
  readonly doc: string;
  readonly run: () => Promise<readonly Figure[]>;
};

/** The value that half of the samples are below. */
export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5);
}

/** The value that a share of the samples is below; 0 without samples. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Runs `work` and tells how long it took, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/** The figures as a table for people. */
export function toTable(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, value, unit, floor, target }) => [
    name,
    `${format(value)} ${unit}`,
    floor ? `${format(floor.value)} ${unit}` : '',
    floor ? `${(value / floor.value).toFixed(2)}×` : '',
    floor?.name ?? '',
    target ?? '',
  ]);
  const all = [['figure', 'value', 'floor', 'ratio', 'the floor is', 'target'], ...rows];
  const widths = all[0]?.map((_, column) => Math.max(...all.map(row => row[column]?.length ?? 0))) ?? [];
  return all
    .map(row =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function format(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
