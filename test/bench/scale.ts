import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createClient, type StorageClient } from '../../src/api/client.ts';
import { createTokenSource } from '../../src/controller/tokens.ts';
import { startChild } from '../../src/dev/children.ts';
import { devCluster, enroll } from '../../src/dev/enrollment.ts';
import { migrate } from '../../gateway/tables/schema.ts';
import { openSqlite } from '../../gateway/stores/sqlite.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';
import { median, timed, type Bench, type Figure } from './figure.ts';
import { childOf, readMemory } from './memory.ts';

const few = 1_000;
const many = 1_000_000;
const rounds = 40;
const pageEntries = 500;

/** Whether a gateway with many volumes is as quick as one with few. */
export const scaleBench: Bench = {
  name: 'scale',
  doc: `a gateway with ${many} volumes in SQLite: page and get over HTTP beside the same with ${few}, start, memory`,
  run: measureScale,
};

type Measured = {
  readonly startMs: number;
  readonly pageMs: number;
  readonly getMs: number;
  readonly rss: number;
};

async function measureScale(): Promise<readonly Figure[]> {
  const small = await measureWith(few);
  const large = await measureWith(many);
  const name = `the same with ${few} volumes`;
  return [
    {
      name: `page of ${pageEntries} at ${many}`,
      value: large.pageMs,
      unit: 'ms',
      floor: { name, value: small.pageMs },
      target: '≤ 2×',
    },
    {
      name: `get by id at ${many}`,
      value: large.getMs,
      unit: 'ms',
      floor: { name, value: small.getMs },
      target: '≤ 2×',
    },
    {
      name: 'gateway: exec to ready',
      value: large.startMs,
      unit: 'ms',
      floor: { name, value: small.startMs },
      target: '≤ 2000 ms',
    },
    {
      name: 'gateway, resident',
      value: large.rss,
      unit: 'MB',
      floor: { name, value: small.rss },
      target: '≤ 150 MB',
    },
  ];
}

async function measureWith(count: number): Promise<Measured> {
  const dir = makeTemporaryDirectory();
  try {
    const store = join(dir, 'store.sqlite');
    await fill(store, count);
    const { keyFile, configFile } = await enroll(join(dir, 'enrollment'), { memory: { backend: 'memory' } });
    const settings = {
      listen: '127.0.0.1:0',
      store,
      config: configFile,
      'log-level': 'error',
    };
    const gateway = startChild('gateway', settings);
    const startMs = await timed(() => gateway.ready);
    const { gateway: url = '' } = await gateway.ready;
    const token = createTokenSource({
      keyFile,
      issuer: devCluster,
      audience: 'fairlead',
      lifetimeMs: 600_000,
    });
    const client = createClient({ url, token });
    const calls = await measureCalls(client, count);
    const { rss } = readMemory(childOf(process.pid, 'gateway'));
    await client.close();
    await gateway.close();
    return { startMs, rss, ...calls };
  } finally {
    removeTemporaryDirectory(dir);
  }
}

/** Pages one after another and single volumes all over the store. */
async function measureCalls(
  client: StorageClient,
  count: number,
): Promise<Pick<Measured, 'pageMs' | 'getMs'>> {
  const pages: number[] = [];
  const gets: number[] = [];
  let pageToken: string | undefined;
  for (let round = 0; round < rounds; round++) {
    const call = { deadlineMs: Date.now() + 30_000 };
    pages.push(
      await timed(async () => {
        const page = await client.listVolumes(
          { limit: pageEntries, ...(pageToken !== undefined && { pageToken }) },
          call,
        );
        pageToken = page.nextPageToken;
      }),
    );
    const id = idOf(Math.floor((count / rounds) * round));
    gets.push(await timed(() => client.getVolume({ volumeId: id }, call)));
  }
  return { pageMs: median(pages), getMs: median(gets) };
}

function idOf(index: number): string {
  return `${devCluster}.pvc-${String(index).padStart(8, '0')}`;
}

/** Rows as the gateway writes them, in bulk. */
async function fill(path: string, count: number): Promise<void> {
  const engine = openSqlite(path);
  await migrate(engine);
  await engine.close();
  const database = new DatabaseSync(path);
  database.exec(`insert into volumes (id, cluster, name, state, spec, size_bytes, context, created_at)
    with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ${count})
    select printf('${devCluster}.pvc-%08d', i), '${devCluster}', printf('pvc-%08d', i), 'ready',
      '{"requiredBytes":1073741824,"capabilities":[{"accessType":"mount","accessMode":"SINGLE_NODE_WRITER"}],"parameters":{}}',
      1073741824, '{}', 1767225600000 from n`);
  database.close();
}
