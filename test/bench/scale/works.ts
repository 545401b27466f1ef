import { few, many } from '../../harness/scale/full-store.ts';
import { type FilledGateway, maxRounds, openFilled, type Work, works } from '../../harness/scale/works.ts';
import type { Figure } from '../figure.ts';

/** The rounds that prepare statements and compile code. */
const warmUps = 2;
/** The number of works that are shown: those with the worst figures. */
const shown = 10;

/** The cost of a work in milliseconds: CPU time, and the longest time slice of the event loop. */
type Cost = { cpuMs: number; sliceMs: number };
type Comparison = { readonly name: string; readonly small: Cost; readonly large: Cost };

/** Measures the cost of all works in a gateway on a full store and in one on a small store. */
export async function measureWorks(): Promise<readonly Figure[]> {
  await using ending = new AsyncDisposableStack();
  const t = { after: (end: () => void | Promise<void>) => void ending.defer(end) };
  const [small, large] = [await openFilled(t, few), await openFilled(t, many)];
  const all: Comparison[] = [];
  for (const work of works) {
    const compared = { name: work.name, small: nothing(), large: nothing() };
    for (let round = 0; round < maxRounds; round++) {
      const isWarm = round >= warmUps;
      add(compared.small, isWarm, await take(small, work, round));
      add(compared.large, isWarm, await take(large, work, round));
    }
    all.push(compared);
  }
  const ratio = (one: Comparison): number => one.large.cpuMs / one.small.cpuMs;
  const dearest = all.toSorted((one, other) => ratio(other) - ratio(one)).slice(0, shown);
  const longest = all.toSorted((one, other) => other.large.sliceMs - one.large.sliceMs).slice(0, shown);
  return [
    ...dearest.map(one => toFigure(one, 'cpuMs', { unit: 'ms CPU', target: '≤ 2×' })),
    ...longest.map(one => toFigure(one, 'sliceMs', { unit: 'ms', target: '≤ 5 ms' })),
  ];
}

function toFigure(
  { name, small, large }: Comparison,
  what: keyof Cost,
  more: Pick<Figure, 'unit' | 'target'>,
): Figure {
  const floor = { name: `the same with ${few.volumes} volumes`, value: small[what] };
  return {
    name: what === 'sliceMs' ? `longest time slice of ${name}` : name,
    value: large[what],
    floor,
    ...more,
  };
}

const nothing = (): Cost => ({ cpuMs: 0, sliceMs: Infinity });

/**
 * Adds a round: the mean of the CPU time, which is counted in ticks, and the shortest maximum of the time slices,
 * because other processes only lengthen them.
 */
function add(sum: Cost, isWarm: boolean, { cpuMs, sliceMs }: Cost): void {
  if (!isWarm) return;
  sum.cpuMs += cpuMs / (maxRounds - warmUps);
  sum.sliceMs = Math.min(sum.sliceMs, sliceMs);
}

async function take(gateway: FilledGateway, { before, work }: Work, round: number): Promise<Cost> {
  await before(gateway, round);
  let [sliceMs, lastMs, isOver] = [0, performance.now(), false];
  const beginTurn = (): void => {
    const nowMs = performance.now();
    sliceMs = Math.max(sliceMs, nowMs - lastMs);
    lastMs = nowMs;
    if (!isOver) setImmediate(beginTurn);
  };
  beginTurn();
  const start = process.threadCpuUsage();
  await work(gateway, round);
  const { user, system } = process.threadCpuUsage(start);
  isOver = true;
  beginTurn();
  return { cpuMs: (user + system) / 1_000, sliceMs };
}
