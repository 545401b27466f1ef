import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createIdentity } from '../../../gateway/pools/identity.ts';
import { createClient, type StorageClient } from '../../../src/api/client.ts';
import { cli } from '../../harness/dev.ts';
import { createSigner, volumeSpec, type Signer } from '../../harness/gateway/gateway.ts';
import { median, timed, type Bench, type Figure } from '../figure.ts';
import { readCpuMs, startFloor } from '../processes.ts';
import { inDirectory } from '../setting.ts';
import { inMemory } from '../../fakes/storages/reference.ts';

const warmUp = 200;
const rounds = 1_000;
/** The number of volumes in a row by one gateway; the gateways alternate, so that noise affects both. */
const perTurn = 50;

/** Measures the cost of a gateway behind a gateway. */
export const hopBench: Bench = {
  name: 'hop',
  doc: 'PUT + DELETE of a volume by a gateway over a vendor that counts volumes in memory, and over a gateway that does, beside a gateway that does so itself',
  run: () => inDirectory(measureHop),
};

const floorName = 'the same pool in the gateway itself';

type Gateway = { readonly client: StorageClient; readonly child: ChildProcess; readonly url: string };
/** A measured gateway, its processes, and their figures. */
type Route = {
  readonly name: string;
  readonly first: Gateway;
  readonly pids: readonly number[];
  readonly times: number[];
  cpuMs: number;
};

async function measureHop(dir: string): Promise<readonly Figure[]> {
  const signer = await createSigner('a');
  const identity = createIdentity('near', join(dir, 'near.keys.json'));
  await identity.token('far', false);
  const keys = { a: { keys: [signer.publicJwk] }, near: await identity.keySet() };
  for (const [name, set] of Object.entries(keys))
    writeFileSync(join(dir, `${name}.json`), JSON.stringify(set));
  const start = (name: string, pool: object) => startGateway(join(dir, name), { signer, pool });
  const memory = { backend: 'memory', capacity: '4096Ti' };
  const direct = await start('direct', memory);
  const far = await start('far', memory);
  const near = await start('near', { backend: 'rest', url: far.url, audience: 'fairlead', ...inMemory });
  const vendor = await startFloor('memory-vendor.ts');
  const { port } = vendor.ready as { readonly port: number };
  const over = await start('over', { backend: 'rest', url: `http://127.0.0.1:${port}` });
  const ways: readonly Route[] = [
    { name: '', first: direct, pids: pidsOf(direct), times: [], cpuMs: 0 },
    { name: 'over a vendor', first: over, pids: pidsOf(over, vendor), times: [], cpuMs: 0 },
    { name: 'over a gateway', first: near, pids: pidsOf(near, far), times: [], cpuMs: 0 },
  ];
  for (let from = 0; from < warmUp + rounds; from += perTurn)
    for (const way of ways) await spend(from < warmUp ? { ...way, times: [] } : way, from);
  for (const { client, child } of [near, far, over, direct]) {
    await client.close();
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  vendor.child.disconnect();
  const [floor, ...hops] = ways;
  return hops.flatMap(hop => compare(hop, floor));
}

function compare({ name, times, cpuMs }: Route, floor: Route | undefined): readonly Figure[] {
  // A gateway behind a gateway records each operation a second time.
  const isVendor = name === 'over a vendor';
  return [
    {
      name: `PUT + DELETE ${name}`,
      value: median(times),
      unit: 'ms',
      floor: { name: floorName, value: median(floor?.times ?? []) },
      target: isVendor ? '≤ 1.6×' : undefined,
    },
    {
      name: `the same ${name}, all processes`,
      value: cpuMs / rounds,
      unit: 'ms CPU',
      floor: { name: floorName, value: (floor?.cpuMs ?? 0) / rounds },
      target: isVendor ? '≤ 2×' : undefined,
    },
  ];
}

function pidsOf(...processes: readonly { readonly child: ChildProcess }[]): readonly number[] {
  return processes.map(({ child }) => child.pid ?? 0);
}

/** Creates and deletes some volumes and adds the CPU time. */
async function spend(way: Route, from: number): Promise<void> {
  const beforeMs = readCpuMs(way.pids);
  for (let index = from; index < from + perTurn; index++)
    way.times.push(await timed(() => createAndDelete(way.first, `pvc-${index}`)));
  way.cpuMs += readCpuMs(way.pids) - beforeMs;
}

async function createAndDelete({ client }: Gateway, name: string): Promise<void> {
  const call = { deadlineMs: Date.now() + 60_000 };
  await client.createVolume({ volumeId: `a.${name}`, body: volumeSpec(name) }, call);
  await client.deleteVolume({ volumeId: `a.${name}` }, call);
}

async function startGateway(
  dir: string,
  { signer, pool }: { readonly signer: Signer; readonly pool: object },
): Promise<Gateway> {
  mkdirSync(dir);
  const clusters = { a: { keys: '../a.json' }, near: { keys: '../near.json' } };
  writeFileSync(join(dir, 'gateway.yaml'), JSON.stringify({ pools: { main: pool }, clusters }));
  const settings = {
    listen: '127.0.0.1:0',
    config: join(dir, 'gateway.yaml'),
    store: join(dir, 'store.sqlite'),
    'gateway-name': 'near',
    'key-file': join(dir, '../near.keys.json'),
    'log-level': 'warn',
  };
  const flags = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  const child = fork(cli, ['gateway', ...flags], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const [message] = (await once(child, 'message')) as [{ readonly ready: { readonly gateway: string } }];
  const url = message.ready.gateway;
  return { url, child, client: createClient({ url, token: () => signer.sign() }) };
}
