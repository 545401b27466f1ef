import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pause } from '../../../src/lib/concurrency.ts';
import { timeAlternately, type Bench, type Figure } from '../figure.ts';
import { childOf, readResident } from '../processes.ts';
import { inDirectory, withDev, type DevSetting } from '../setting.ts';
import { measureWorks } from './works.ts';
import { createVolume } from '../volume.ts';

const few = 1_000;
const many = 1_000_000;
const rounds = 40;
const pageEntries = 500;
const settleMs = 2_000;

/** Compares the speed of a gateway with many volumes and of one with few. */
export const scaleBench: Bench = {
  name: 'scale',
  doc: `page and get with ${many} volumes in SQLite, start and memory, beside the same with ${few}; and what every operation, sweep and command takes on a full store`,
  run: measureScale,
};

type Measurement = {
  readonly startMs: number;
  readonly page: number;
  readonly get: number;
  readonly resident: number;
};

async function measureScale(): Promise<readonly Figure[]> {
  const [small, large] = [await measureWith(few), await measureWith(many)];
  const figure = (name: string, key: keyof Measurement, more: Pick<Figure, 'unit' | 'target'>): Figure => ({
    name,
    value: large[key],
    floor: { name: `the same with ${few} volumes`, value: small[key] },
    ...more,
  });
  return [
    figure(`page of ${pageEntries} at ${many}`, 'page', { unit: 'ms', target: '≤ 2×' }),
    figure(`get by id at ${many}`, 'get', { unit: 'ms', target: '≤ 2×' }),
    figure('fairlead dev, exec to ready', 'startMs', { unit: 'ms', target: '≤ 2000 ms' }),
    figure('gateway, resident', 'resident', { unit: 'MB', target: '≤ 150 MB' }),
    ...(await measureWorks()),
  ];
}

function measureWith(count: number): Promise<Measurement> {
  return inDirectory(async dir => {
    const sizeBytes = 2 ** 30;
    const id = await withDev(dir, ({ csi }) =>
      createVolume(csi.controller, `pvc-${number(0)}`, { sizeBytes }),
    );
    multiply(join(dir, 'dev/store.sqlite'), { id, count });
    const beforeMs = performance.now();
    return withDev(dir, async setting => {
      const startMs = performance.now() - beforeMs;
      return { startMs, ...(await measureCalls(setting, { id, count })) };
    });
  });
}

type Volumes = { readonly id: string; readonly count: number };

/** Measures pages one after another, and single volumes all over the store. */
async function measureCalls(
  { dev, csi }: DevSetting,
  { id, count }: Volumes,
): Promise<Omit<Measurement, 'startMs'>> {
  const { controller } = csi.controller;
  let token = '';
  let round = 0;
  const { page, get } = await timeAlternately(rounds, {
    page: async () => {
      const request = { max_entries: pageEntries, starting_token: token };
      ({ next_token: token } = await controller.ListVolumes(request));
    },
    get: () =>
      controller.ControllerGetVolume({ volume_id: idOf(id, Math.floor((count / rounds) * round++)) }),
  });
  await pause(settleMs);
  return { page, get, resident: readResident(childOf(dev.pid, 'gateway')) };
}

function number(index: number): string {
  return String(index).padStart(8, '0');
}

function idOf(first: string, index: number): string {
  return first.replace(number(0), number(index));
}

/** Copies all columns of the only volume's row until there are `count` rows. */
function multiply(store: string, { id, count }: Volumes): void {
  const database = new DatabaseSync(store);
  const columns = database.prepare("select name from pragma_table_info('volumes')").all();
  const values = columns.map(({ name }) =>
    name === 'id' || name === 'name' ? `replace(${name}, '${number(0)}', printf('%08d', i))` : name,
  );
  database
    .prepare(
      `insert into volumes with recursive n(i) as (select 1 union all select i + 1 from n where i + 1 < ?)
       select ${values.join(', ')} from volumes, n where id = ?`,
    )
    .run(count, id);
  database.close();
}
