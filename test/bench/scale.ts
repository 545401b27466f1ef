import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pause } from '../../src/lib/concurrency.ts';
import { few, many } from '../harness/scale/full-store.ts';
import { type FilledGateway, maxRounds, openFilled, type Work, works } from '../harness/scale/works.ts';
import type { CleanupScope } from '../harness/temporary.ts';
import type { Bench, Figure } from './figure.ts';
import { childOf, readResident } from './processes.ts';
import { inDirectory, inScope, withDev } from './setting.ts';
import { readThreadCpuMs } from './thread-clock.ts';
import { createVolume } from './volume.ts';

const fewRows = 1_000;
const manyRows = 1_000_000;
const settleMs = 2_000;
/** The rounds that prepare statements and compile code. */
const warmUps = 2;
/** The number of works that are shown: those with the worst figures. */
const shown = 10;

/** The cost of a work in milliseconds: CPU time, and the longest time slice of the event loop. */
type Cost = { cpuMs: number; sliceMs: number };
type Comparison = { readonly name: string; readonly small: Cost; readonly large: Cost };

/** Compares the cost of a gateway's work, its start and its memory in a full store with those in a small one. */
export const scaleBench: Bench = {
  name: 'scale',
  doc: `what every operation, sweep and command takes on a full store, and a gateway's start and memory with ${manyRows} volumes in SQLite, beside the same with ${fewRows}`,
  run: async () => [...(await measureStart()), ...(await inScope(measureWorks))],
};

async function measureStart(): Promise<readonly Figure[]> {
  const [small, large] = [await startWith(fewRows), await startWith(manyRows)];
  const name = `the same with ${fewRows} volumes`;
  return [
    {
      name: `fairlead dev with ${manyRows} volumes, exec to ready`,
      value: large.startMs,
      unit: 'ms',
      floor: { name, value: small.startMs },
      target: '≤ 2000 ms',
    },
    {
      name: `gateway with ${manyRows} volumes, resident`,
      value: large.resident,
      unit: 'MB',
      floor: { name, value: small.resident },
      target: '≤ 150 MB',
    },
  ];
}

/** Starts `fairlead dev` on a store with this number of volumes. */
function startWith(count: number) {
  return inDirectory(async dir => {
    await withDev(dir, ({ csi }) => createVolume(csi.controller, 'first', { sizeBytes: 2 ** 30 }));
    multiply(join(dir, 'dev/store.sqlite'), count);
    const beforeMs = performance.now();
    return withDev(dir, async ({ dev }) => {
      const startMs = performance.now() - beforeMs;
      await pause(settleMs);
      return { startMs, resident: readResident(childOf(dev.pid, 'gateway')) };
    });
  });
}

/** Copies all columns of the only volume's row until there are `count` rows. */
function multiply(store: string, count: number): void {
  const database = new DatabaseSync(store);
  const columns = database.prepare("select name from pragma_table_info('volumes')").all();
  const values = columns.map(({ name }) => (name === 'id' || name === 'name' ? `${name} || i` : name));
  database
    .prepare(
      `insert into volumes with recursive n(i) as (select 1 union all select i + 1 from n where i + 1 < ?)
       select ${values.join(', ')} from volumes, n`,
    )
    .run(count);
  database.close();
}

/** Measures the cost of all works in a gateway on a full store and in one on a small store. */
async function measureWorks(t: CleanupScope): Promise<readonly Figure[]> {
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
 * Adds a round: the mean of the CPU time, and the shortest maximum of the time slices, because other processes only
 * lengthen them.
 */
function add(sum: Cost, isWarm: boolean, { cpuMs, sliceMs }: Cost): void {
  if (!isWarm) return;
  sum.cpuMs += cpuMs / (maxRounds - warmUps);
  sum.sliceMs = Math.min(sum.sliceMs, sliceMs);
}

async function take(gateway: FilledGateway, { before, work }: Work, round: number): Promise<Cost> {
  await before(gateway, round);
  let [sliceMs, lastMs, isOver] = [0, performance.now(), false];
  const beginSlice = (): void => {
    const nowMs = performance.now();
    sliceMs = Math.max(sliceMs, nowMs - lastMs);
    lastMs = nowMs;
    if (!isOver) setImmediate(beginSlice);
  };
  beginSlice();
  const startMs = readThreadCpuMs();
  await work(gateway, round);
  const cpuMs = readThreadCpuMs() - startMs;
  isOver = true;
  beginSlice();
  return { cpuMs, sliceMs };
}
