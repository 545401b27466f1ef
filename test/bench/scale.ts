import { join } from 'node:path';
import { openSqlite } from '../../gateway/stores/sqlite.ts';
import { connectCsi } from '../../src/csi/client.ts';
import { startDev } from '../harness/dev.ts';
import { copyRow } from '../harness/scale/full-store.ts';
import { temporaryDirectory, type CleanupScope } from '../harness/temporary.ts';
import { inScope, type Bench, type Figure } from './figure.ts';
import { childOf, readSettled } from './processes.ts';
import { createVolume } from './volume.ts';

const few = 1_000;
const many = 1_000_000;

/** Compares a gateway's start and memory on a full store with those on a small one. */
export const scaleBench: Bench = {
  name: 'scale',
  doc: `a gateway's start and memory with ${many} volumes in SQLite, beside the same with ${few}`,
  run: () => inScope(measureScale),
};

async function measureScale(t: CleanupScope): Promise<readonly Figure[]> {
  const [small, large] = [await startWith(t, few), await startWith(t, many)];
  const floor = `the same with ${few} volumes`;
  return [
    {
      name: `fairlead dev with ${many} volumes, exec to ready`,
      value: large.startMs,
      unit: 'ms',
      floor: [floor, small.startMs],
      target: '≤ 2000 ms',
    },
    {
      name: `gateway with ${many} volumes, resident`,
      value: large.resident,
      unit: 'MB',
      floor: [floor, small.resident],
      target: '≤ 150 MB',
    },
  ];
}

/** Measures a start of `fairlead dev` on a store with this number of copies of a volume. */
async function startWith(t: CleanupScope, count: number) {
  const dir = temporaryDirectory(t);
  const first = await startDev(t, { dir });
  const client = connectCsi(first.controller);
  await createVolume(client, 'first');
  client.close();
  await first.end();
  const engine = openSqlite(join(dir, 'store.sqlite'));
  const copies = { id: 'id || i', name: 'name || i' };
  await engine.transaction(sql => copyRow(sql, { of: 'volumes', where: 'true', count }, copies));
  await engine.close();
  const beforeMs = performance.now();
  const dev = await startDev(t, { dir });
  const startMs = performance.now() - beforeMs;
  const resident = await readSettled(childOf(dev.pid, 'gateway'));
  await dev.end();
  return { startMs, resident };
}
