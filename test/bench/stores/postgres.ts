import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'undici';
import { cli } from '../../harness/dev.ts';
import { createSigner, volumeSpec, type Signer } from '../../harness/gateway/gateway.ts';
import { startPostgres, type PostgresServer } from '../../harness/postgres.ts';
import { countRoundTrips } from '../../harness/stores/round-trips.ts';
import type { Bench, Figure } from '../figure.ts';
import { gatewayFlags, readCpuMs, startFloor } from '../processes.ts';
import { inDirectory } from '../setting.ts';
import { forEach, type Range } from '../volume.ts';
import { createCollector, type SentCreate } from './sent.ts';

const concurrency = 8;
const warmUp = 1_000;
const creates = 3_000;
const counted = 20;

/** Measures the costs of a gateway on PostgreSQL. */
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
    const { trips, sent } = await countOne(dir, { server, signer, urlFile });
    const floor = await startFloor('bare-pg.ts', await server.createDatabase());
    const bare = `http://127.0.0.1:${(floor.ready as { readonly port: number }).port}`;
    const inserts = await measureCpu(floor.child, range => create(bare, { ...range, signer }));
    floor.child.disconnect();
    const byPg = await measureSent('sent-by-pg.ts', urlFile, sent);
    const alone = await measureSent('sent-alone.ts', urlFile, sent);
    const gateway = await startGateway(dir, { store: `postgres:${urlFile}`, signer });
    const value = await measureCpu(gateway.child, range => create(gateway.url, { ...range, signer }));
    await gateway.end();
    const unit = 'ms CPU';
    const [what, target] = [`CreateVolume on PostgreSQL at concurrency ${concurrency}`, '≤ 0.5 ms'];
    const floors = {
      'its statements, sent by bare pg': byPg,
      'its statements as bytes, the answers not read': alone,
      'a bare Hono route with two durable inserts': inserts,
    };
    return [
      ...Object.entries(floors).map(([name, floorMs]): Figure => ({
        name: what,
        value,
        unit,
        floor: { name, value: floorMs },
        target,
      })),
      { name: 'round trips of its longest transaction', value: Math.max(...trips), unit: '×', target: '≤ 4' },
    ];
  } finally {
    await server.end();
  }
}

type Setting = { readonly server: PostgresServer; readonly signer: Signer; readonly urlFile: string };

/** Counts the round trips of one create's transactions, and writes a file with the sent statements. */
async function countOne(dir: string, { server, signer, urlFile }: Setting) {
  const collector = createCollector();
  const way = await countRoundTrips(server.directory, urlFile, collector.collect);
  const gateway = await startGateway(dir, { store: `postgres:${way.urlFile}`, signer });
  // The first creates send the texts of their statements, and the gateway is still starting sweeps.
  for (let from = -counted; from < 0; from++) {
    way.take();
    collector.take();
    await create(gateway.url, { from, to: from + 1, concurrency: 1, signer });
  }
  const [trips, one] = [way.take(), { volume: 'pvc--1', pieces: collector.take() } satisfies SentCreate];
  await gateway.end();
  way.close();
  const sent = join(dir, 'sent.json');
  writeFileSync(sent, JSON.stringify(one));
  return { trips, sent };
}

/** Measures the CPU time of one create's statements in a program of floors/. */
async function measureSent(floor: string, urlFile: string, sent: string): Promise<number> {
  const { child } = await startFloor(floor, urlFile, sent, gatewayFlags);
  const ms = await measureCpu(child, async range => {
    child.send(range);
    await once(child, 'message');
  });
  child.disconnect();
  return ms;
}

type Work = Range & { readonly signer: Signer };

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

/** Measures the CPU time of one create in the process, after a warm-up. */
async function measureCpu({ pid = 0 }: ChildProcess, run: (range: Range) => Promise<void>): Promise<number> {
  await run({ from: 0, to: warmUp, concurrency });
  const beforeMs = readCpuMs([pid]);
  await run({ from: warmUp, to: warmUp + creates, concurrency });
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
