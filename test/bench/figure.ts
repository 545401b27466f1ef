import { renderRows } from '../../src/cli/output/table.ts';
import type { CleanupScope } from '../harness/temporary.ts';
import { median } from '../harness/values.ts';

/** A cost by size, such as that of creates by the number of clusters, beside a floor at the same sizes. */
export type Curve = {
  readonly of: string;
  readonly by: string;
  readonly unit: Figure['unit'];
  /** Smallest size first. */
  readonly points: readonly (readonly [size: number, value: number, floor: number])[];
};

/** A measured figure beside a floor from the same run. */
export type Figure = {
  readonly name: string;
  readonly value: number;
  readonly unit: 'ms' | 'ms CPU' | 'MB' | 'MB/s' | '/s';
  /** The best value that the same machine can reach, after its name. */
  readonly floor?: readonly [name: string, value: number];
  /** The value that we want to reach, as text. */
  readonly target?: string;
  /** The curve whose last value this is. */
  readonly curve?: Curve;
};

/** A part of the benches: its name for --only, its subject, and its measurement. */
export type Bench = {
  readonly name: string;
  readonly doc: string;
  readonly run: () => Promise<readonly Figure[]>;
};

/** Makes the figure of a curve: its value at the largest size beside that at the smallest. */
export function toGrowth(curve: Curve): Figure {
  const { of, by, unit, points } = curve;
  const [[smallest, floor] = [0, 0], [largest, value] = [0, 0]] = [points[0], points.at(-1)];
  return {
    name: `${of} with ${largest.toLocaleString('en')} ${by}`,
    value,
    unit,
    floor: [`the same with ${smallest.toLocaleString('en')}`, floor],
    target: `≤ ${maxGrowth}×`,
    curve,
  };
}

/** The bound of a curve, in multiples of its first value. */
const maxGrowth = 1.5;

/** Finds the knee of a curve: the size from which it stays above its bound; undefined if there is none. */
export function findKnee({ points }: Curve): number | undefined {
  const [, first = 0] = points[0] ?? [];
  const last = points.findLastIndex(([, value]) => value <= maxGrowth * first);
  return points[last + 1]?.[0];
}

/** Runs work with a scope that cleans up even if the work fails. */
export async function inScope<T>(work: (t: CleanupScope) => Promise<T>): Promise<T> {
  await using ending = new AsyncDisposableStack();
  return await work({ after: (end: () => void | Promise<void>) => void ending.defer(end) });
}

/** Measures the time of `work` in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/**
 * Alternates the works, so that noise affects all of them; returns the median time of each in milliseconds, by name.
 */
export async function timeAlternately<Name extends string>(
  rounds: number,
  works: Readonly<Record<Name, () => Promise<unknown>>>,
): Promise<Readonly<Record<Name, number>>> {
  const samples = new Map((Object.keys(works) as Name[]).map(name => [name, new Array<number>()]));
  for (let round = 0; round < rounds; round++)
    for (const [name, times] of samples) times.push(await timed(works[name]));
  const medians = samples.entries().map(([name, times]) => [name, median(times)]);
  return Object.fromEntries(medians) as Record<Name, number>;
}

/**
 * The smallest floor of a ratio: the last digit that the table shows. A smaller floor counts as this, since it is less
 * than the clocks of /proc resolve and would give a ratio of any size.
 */
const minFloor = 0.01;

/** Formats the figures as a table. */
export function describe(figures: readonly Figure[]): string {
  const rows = figures.map(
    ({ name, value, unit, floor: [floorName = '', floor = NaN] = [], target = '' }) => ({
      figure: name,
      value: `${format(value)} ${unit}`,
      floor: floorName && `${format(floor)} ${unit}`,
      ratio: floorName && `${(value / Math.max(floor, minFloor)).toFixed(2)}×`,
      'the floor is': floorName,
      target,
    }),
  );
  return renderRows(rows, rows.length);
}

function format(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
