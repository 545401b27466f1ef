import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import { connectCsi, type CsiClient } from '../../src/csi/client.ts';
import { startDev } from '../harness/dev.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';
import type { Bench, Figure } from './figure.ts';
import { measureInserts } from './inserts.ts';
import { measureRate } from './rate.ts';

const concurrencies = [1, 8, 32];
const targets: Readonly<Record<number, string>> = { 1: '≥ 500/s', 8: '≥ 1000/s' };

/** How many volumes are made per second, each durable before its answer. */
export const createBench: Bench = {
  name: 'create',
  doc: 'CreateVolume per second over gRPC and authenticated HTTP, durable, beside an empty gRPC echo, a bare Hono route and a durable SQLite insert',
  run: measureCreate,
};

async function measureCreate(): Promise<readonly Figure[]> {
  const dir = makeTemporaryDirectory();
  const echo = await startFloor('empty-grpc.ts', join(dir, 'echo.sock'));
  const hono = await startFloor('bare-hono.ts');
  const dev = await startDev({ dir: join(dir, 'dev'), capacity: '1024Ti' });
  const ours = connectCsi(dev.controller);
  const empty = connectCsi(`unix://${join(dir, 'echo.sock')}`);
  const pool = new Pool(`http://127.0.0.1:${hono.message['port']}`, { connections: 64 });
  try {
    const insertsPerSecond = measureInserts(join(dir, 'floor.sqlite'));
    const figures: Figure[] = [];
    for (const concurrency of concurrencies) {
      const value = await measureRate(concurrency, index => createOne(ours, `pvc-${concurrency}-${index}`));
      const grpc = await measureRate(concurrency, index => createOne(empty, `pvc-${index}`));
      const http = await measureRate(concurrency, index => putOne(pool, index));
      const name = `CreateVolume at concurrency ${concurrency}`;
      const target = targets[concurrency];
      figures.push({
        name,
        value,
        unit: '/s',
        floor: { name: 'empty gRPC echo', value: grpc },
        ...(target !== undefined && { target }),
      });
      figures.push({ name: '', value, unit: '/s', floor: { name: 'bare Hono route', value: http } });
      figures.push({
        name: '',
        value,
        unit: '/s',
        floor: { name: 'durable SQLite inserts, one after another', value: insertsPerSecond },
      });
    }
    return figures;
  } finally {
    ours.close();
    empty.close();
    await pool.close();
    echo.child.disconnect();
    hono.child.disconnect();
    await dev.end();
    removeTemporaryDirectory(dir);
  }
}

function createOne(client: CsiClient, name: string): Promise<unknown> {
  return client.controller.CreateVolume({
    name,
    capacity_range: { required_bytes: 2 ** 30 },
    volume_capabilities: [{ mount: { fs_type: 'ext4' }, access_mode: { mode: 'SINGLE_NODE_WRITER' } }],
  });
}

async function putOne(pool: Pool, index: number): Promise<void> {
  const body = JSON.stringify({
    name: `pvc-${index}`,
    requiredBytes: 2 ** 30,
    capabilities: [{ accessType: 'mount' }],
  });
  const headers = { 'content-type': 'application/json' };
  const response = await pool.request({ method: 'PUT', path: `/v1/volumes/pvc-${index}`, headers, body });
  await response.body.dump();
}

type Floor = { readonly child: ChildProcess; readonly message: Readonly<Record<string, unknown>> };

async function startFloor(file: string, ...argv: readonly string[]): Promise<Floor> {
  const path = fileURLToPath(new URL(`floors/${file}`, import.meta.url));
  const child = fork(path, [...argv], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const [message] = (await once(child, 'message')) as [Readonly<Record<string, unknown>>];
  return { child, message };
}
