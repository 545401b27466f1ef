import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'undici';
import { cli } from '../../harness/dev.ts';
import { createSigner, volumeSpec, type Signer } from '../../harness/gateway-harness.ts';
import { startPostgres } from '../../harness/postgres.ts';
import { countRoundTrips } from '../../harness/stores/round-trips.ts';
import type { Bench, Figure } from '../figure.ts';
import { readCpuMs, startFloor } from '../processes.ts';
import { inDirectory } from '../setting.ts';
import { forEach } from '../volume.ts';

const concurrency = 8;
const warmUp = 1_000;
const creates = 3_000;
const counted = 20;

/** What a gateway on PostgreSQL takes. */
export const postgresBench: Bench = {
  name: 'postgres',
  doc: `CreateVolume on PostgreSQL at ${concurrency} in flight: CPU of the gateway, and how often it waits for the server`,
  run: () => inDirectory(measurePostgres),
};

async function measurePostgres(dir: string): Promise<readonly Figure[]> {
  const server = await startPostgres({ isDurable: true });
  const signer = await createSigner('a');
  try {
    const urlFile = await server.createDatabase();
    const floor = await startFloor('bare-pg.ts', await server.createDatabase());
    const bare = `http://127.0.0.1:${(floor.ready as { readonly port: number }).port}`;
    const floorMs = await measureCpu(bare, { pid: floor.child.pid ?? 0, signer });
    floor.child.disconnect();
    const gateway = await startGateway(dir, { store: `postgres:${urlFile}`, signer });
    const value = await measureCpu(gateway.url, { pid: gateway.child.pid ?? 0, signer });
    await gateway.end();
    const way = await countRoundTrips(server.directory, await server.createDatabase());
    const seen = await startGateway(dir, { store: `postgres:${way.urlFile}`, signer });
    way.take();
    await create(seen.url, { from: 0, to: counted, concurrency: 1, signer });
    const trips = way.take();
    await seen.end();
    way.close();
    const at = `CreateVolume on PostgreSQL at concurrency ${concurrency}`;
    const name = 'a bare Hono route with two durable inserts';
    return [
      { name: at, value, unit: 'ms CPU', floor: { name, value: floorMs }, target: '≤ 0.5 ms' },
      { name: 'round trips of its longest transaction', value: Math.max(...trips), unit: '×', target: '≤ 4' },
    ];
  } finally {
    await server.end();
  }
}

type Work = {
  readonly from: number;
  readonly to: number;
  readonly concurrency: number;
  readonly signer: Signer;
};

async function create(url: string, { signer, ...range }: Work): Promise<void> {
  const pool = new Pool(url, { connections: range.concurrency });
  const headers = { authorization: `Bearer ${await signer.sign()}`, 'content-type': 'application/json' };
  await forEach(range, async index => {
    const body = JSON.stringify(volumeSpec(`pvc-${index}`));
    const path = `/v1/volumes/a.pvc-${index}`;
    const answer = await pool.request({ method: 'PUT', path, headers, body });
    await answer.body.dump();
    if (answer.statusCode >= 300) throw new Error(`${path} was answered with ${answer.statusCode}`);
  });
  await pool.close();
}

/** CPU time of one create in the process, after a warm-up. */
async function measureCpu(
  url: string,
  { pid, signer }: { readonly pid: number; readonly signer: Signer },
): Promise<number> {
  await create(url, { from: 0, to: warmUp, concurrency, signer });
  const beforeMs = readCpuMs([pid]);
  await create(url, { from: warmUp, to: warmUp + creates, concurrency, signer });
  return (readCpuMs([pid]) - beforeMs) / creates;
}

async function startGateway(
  dir: string,
  { store, signer }: { readonly store: string; readonly signer: Signer },
) {
  writeFileSync(join(dir, 'a.json'), JSON.stringify({ keys: [signer.publicJwk] }));
  const config = join(dir, 'gateway.yaml');
  const file = { pools: { main: { backend: 'memory' } }, clusters: { a: { keys: join(dir, 'a.json') } } };
  writeFileSync(config, JSON.stringify(file));
  const flags = ['--config', config, '--store', store, '--listen', '127.0.0.1:0'];
  const child = spawn(process.execPath, [cli, 'gateway', ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  const { promise: url, resolve } = Promise.withResolvers<string>();
  child.stderr.on('data', text => {
    const found = /http:\/\/[\w.:]+/.exec(String(text))?.[0];
    if (found !== undefined) resolve(found);
  });
  const end = async (): Promise<void> => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  return { child, url: await url, end };
}
