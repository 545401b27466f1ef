import { openSqlite } from '../../gateway/stores/sqlite.ts';
import type { Engine } from '../../gateway/store.ts';
import { migrate } from '../../gateway/tables/schema.ts';
import type { StorageClient } from '../../src/api/client.ts';
import { mounted, volumeSpec } from '../harness/gateway.ts';
import { callWithin, runGateway } from '../harness/gateway/program.ts';
import { copyRow } from '../harness/scale/full-store.ts';
import type { CleanupScope } from '../harness/temporary.ts';
import { median } from '../harness/values.ts';
import { inScope, timed, toGrowth, type Bench, type Curve, type Figure } from './figure.ts';
import { openFloor, type Server } from './gateway.ts';
import { forEach, readCpuMs, readSettled } from './processes.ts';

/** The contents of a store: clusters, and the nodes and attached volumes of each. */
type Contents = { readonly clusters: number; readonly nodes: number; readonly volumes: number };

/** The sizes of each sweep, smallest first. Each sweep has a gateway of its own. */
const sweeps = {
  clusters: { sizes: [1, 10, 30, 100], at: clusters => ({ clusters, nodes: 10, volumes: 100 }) },
  nodes: { sizes: [10, 100, 1_000, 5_000], at: nodes => ({ clusters: 1, nodes, volumes: nodes }) },
  volumes: { sizes: [100, 1_000, 10_000, 100_000], at: volumes => ({ clusters: 1, nodes: 1_000, volumes }) },
} satisfies Readonly<Record<string, { readonly sizes: readonly number[]; at(size: number): Contents }>>;

/** The number of measured calls of each kind at each size, after half as many; and the number in flight. */
const [count, concurrency] = [200, 8] as const;
/** The rows that a fill copies. */
const template = { volumeId: 'c0.template', nodeId: 'template' } as const;
const attachment = { capability: mounted, readonly: false };

/** Measures how the cost of calls grows with clusters, with nodes, and with volumes. */
export const growthBench: Bench = {
  name: 'growth',
  doc: `CPU and time of create, attach and list with 1 to 100 clusters, with 10 to 5,000 nodes, and with 100 to 100,000 volumes, at ${concurrency} in flight, beside a bare Hono route; the gateway's memory`,
  async run() {
    const figures: Figure[] = [];
    for (const by of ['clusters', 'nodes', 'volumes'] as const)
      figures.push(...(await inScope(t => sweep(t, by))));
    return figures;
  },
};

async function sweep(t: CleanupScope, by: keyof typeof sweeps): Promise<readonly Figure[]> {
  const { sizes, at } = sweeps[by];
  const names = Array.from({ length: at(Math.max(...sizes)).clusters }, (_, index) => `c${index}`);
  const gateway = await runGateway(t, {
    pools: { main: { backend: 'memory', capacity: '4096Ti' } },
    clusters: Object.fromEntries(names.map(name => [name, {}])),
    flags: { 'log-level': undefined, 'claim-lease': undefined },
    process: {},
  });
  const engine = openSqlite(gateway.store.replace(/^sqlite:/, ''));
  t.after(() => engine.close());
  const clients = names.map(gateway.clientOf);
  const floor = await openFloor(t, 'bare-hono.ts');
  const samples: Sample[] = [];
  let before: Contents = { clusters: 0, nodes: 0, volumes: 0 };
  await addTemplate(clients[0] ?? gateway.client);
  // The first round only warms up.
  for (const [round, size] of [...sizes.slice(0, 1), ...sizes].entries()) {
    const contents = at(size);
    await fill(engine, before, contents);
    before = contents;
    const found = await measureCalls({ pid: gateway.pid, clients, floor }, contents, size);
    if (round > 0) samples.push(...found);
  }
  const curves = Map.groupBy(samples, ({ of, unit }) => `${of} ${unit}`);
  return [...curves.values()].flatMap(same => {
    const [{ of, unit } = { of: '', unit: 'ms' as const }] = same;
    return toGrowth({
      of,
      by,
      unit,
      points: same.map(({ size, value, floor: least }) => [size, value, least]),
    });
  });
}

type Sample = Pick<Curve, 'of' | 'unit'> & Readonly<Record<'size' | 'value' | 'floor', number>>;

type Servers = {
  readonly pid: number;
  readonly clients: readonly StorageClient[];
  readonly floor: Server;
};

/** Measures the calls of all clusters together, and the memory afterwards. */
async function measureCalls({ pid, clients, floor }: Servers, { clusters, nodes }: Contents, size: number) {
  const samples: Sample[] = [];
  const [floorPid = 0] = floor.pids;
  const least = await measure(floorPid, index => floor.send('PUT', `pvc-${index}`));
  for (const [of, call] of Object.entries(calls)) {
    const cost = await measure(pid, async index => {
      const client = clients[index % clusters];
      if (client) await call(client, `c${index % clusters}.own-${index}`, `n${index % nodes}`);
    });
    if (!isMeasured(of)) continue;
    samples.push({ of, size, unit: 'ms CPU', value: cost.cpuMs, floor: least.cpuMs });
    samples.push({ of, size, unit: 'ms', value: cost.ms, floor: least.ms });
  }
  samples.push({
    of: 'memory',
    size,
    unit: 'MB',
    value: await readSettled(pid),
    floor: await readSettled(floorPid),
  });
  return samples;
}

const isMeasured = (name: string): boolean => ['create', 'attach', 'list'].includes(name);

/** The calls of a volume's life, in their order. */
const calls: Readonly<
  Record<string, (client: StorageClient, volumeId: string, nodeId: string) => Promise<unknown>>
> = {
  create: (client, volumeId) => client.createVolume({ volumeId, body: specOf(volumeId) }, callWithin()),
  attach: (client, volumeId, nodeId) =>
    client.attachVolume({ volumeId, nodeId, body: attachment }, callWithin()),
  list: client => client.listVolumes({ limit: 50 }, callWithin()),
  detach: (client, volumeId, nodeId) => client.detachVolume({ volumeId, nodeId }, callWithin()),
  delete: (client, volumeId) => client.deleteVolume({ volumeId }, callWithin()),
};

const specOf = (volumeId: string) => volumeSpec(volumeId.slice(volumeId.indexOf('.') + 1));

/** Measures the mean CPU time of a call in a process, and its median time, after a warm-up. */
async function measure(pid: number, call: (index: number) => Promise<unknown>) {
  await forEach({ from: 0, to: count / 2, concurrency }, call);
  const times: number[] = [];
  const beforeMs = readCpuMs(pid);
  await forEach({ from: count / 2, to: count / 2 + count, concurrency }, async index =>
    times.push(await timed(() => call(index))),
  );
  return { cpuMs: (readCpuMs(pid) - beforeMs) / count, ms: median(times) };
}

async function addTemplate(client: StorageClient): Promise<void> {
  const { volumeId, nodeId } = template;
  await client.putNode({ nodeId, body: {} }, callWithin());
  await client.createVolume({ volumeId, body: specOf(volumeId) }, callWithin());
  await client.attachVolume({ volumeId, nodeId, body: attachment }, callWithin());
}

/** Names the cluster of a row in SQL: each cluster has `each` rows, and `old` rows exist. */
const ofCluster = (each: number, old: number): string => `'c' || ((i + ${old}) / ${each})`;

/** Adds rows to the store of a gateway that has no call, and counts them as a gateway does at its start. */
async function fill(engine: Engine, before: Contents, { clusters, nodes, volumes }: Contents): Promise<void> {
  const [oldNodes, oldVolumes] = [before.clusters * before.nodes, before.clusters * before.volumes];
  const cluster = ofCluster(volumes, oldVolumes);
  const volume = `(i + ${oldVolumes})`;
  const id = `${cluster} || '.m' || ${volume}`;
  const added = clusters * volumes - oldVolumes;
  const ofTemplate = `volume_id = '${template.volumeId}'`;
  const nodeRow = {
    cluster: ofCluster(nodes, oldNodes),
    node_id: `'n' || ((i + ${oldNodes}) % ${nodes})`,
  };
  const rows = [
    [{ of: 'nodes', where: `node_id = '${template.nodeId}'`, count: clusters * nodes - oldNodes }, nodeRow],
    [
      { of: 'volumes', where: `id = '${template.volumeId}'`, count: added },
      { id, cluster, name: `'m' || ${volume}` },
    ],
    [
      { of: 'attachments', where: ofTemplate, count: added },
      { volume_id: id, cluster, node_id: `'n' || (${volume} % ${nodes})` },
    ],
  ] as const;
  await engine.transaction(async sql => {
    for (const [row, values] of rows) if (row.count > 0) await copyRow(sql, row, values);
  });
  await migrate(engine);
}
