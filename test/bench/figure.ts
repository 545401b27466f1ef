import { toTable } from '../../src/cli/admin.ts';

/** One measured figure beside the floor that the same run measured. */
export type Figure = {
  readonly name: string;
  readonly value: number;
  readonly unit: 'ms' | 'ms CPU' | 'MB' | 'MB/s' | '×';
  /** What the same machine does at best, and what that is. */
  readonly floor?: Floor | undefined;
  /** What we want to reach, as text. */
  readonly target?: string | undefined;
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
  const samples = new Map((Object.keys(works) as Name[]).map(name => [name, new Array<number>()]));
  for (let round = 0; round < rounds; round++)
    for (const [name, times] of samples) times.push(await timed(works[name]));
  const medians = samples.entries().map(([name, times]) => [name, median(times)]);
  return Object.fromEntries(medians) as Record<Name, number>;
}

/** The figures as a table for people. */
export function describe(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, value, unit, floor, target }) => ({
    figure: name,
    value: `${format(value)} ${unit}`,
    floor: floor ? `${format(floor.value)} ${unit}` : '',
    ratio: floor ? `${(value / floor.value).toFixed(2)}×` : '',
    'the floor is': floor?.name ?? '',
    target: target ?? '',
  }));
  return toTable(rows, rows.length);
}

function format(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
