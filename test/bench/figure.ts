/** One measured figure beside the floor that the same run measured. */
export type Figure = {
  readonly name: string;
  readonly value: number;
  readonly unit: 'ms' | 'ms CPU' | 'MB';
  /** What the same machine does at best, and what that is. */
  readonly floor?: Floor;
  /** What we want to reach, as text. */
  readonly target?: string;
};

/** What a figure is compared with, in the figure's unit. */
export type Floor = { readonly name: string; readonly value: number };

/** One part: its name for --only, what it measures, and the measuring. */
export type Bench = {
  readonly name: string;
  readonly doc: string;
  readonly run: () => Promise<readonly Figure[]>;
};

/** The value that half of the samples are below; 0 without samples. */
export function median(samples: readonly number[]): number {
  return [...samples].sort((a, b) => a - b)[Math.floor(samples.length / 2)] ?? 0;
}

/** Runs `work` and tells how long it took, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/** Works in turns, so that a noisy moment meets all; the median of each in milliseconds, by its name. */
export async function timeInTurns<Name extends string>(
  rounds: number,
  works: Readonly<Record<Name, () => Promise<unknown>>>,
): Promise<Readonly<Record<Name, number>>> {
  const entries = Object.entries<() => Promise<unknown>>(works).map(([name, work]) => ({
    name,
    work,
    samples: [] as number[],
  }));
  for (let round = 0; round < rounds; round++)
    for (const { work, samples } of entries) samples.push(await timed(work));
  return Object.fromEntries(entries.map(({ name, samples }) => [name, median(samples)])) as Record<
    Name,
    number
  >;
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
