import { join } from 'node:path';
import { Pool } from 'undici';
import { connectCsi, type CsiClient } from '../../src/csi/client.ts';
import { pause } from '../../src/lib/concurrency.ts';
import type { Bench, Figure } from './figure.ts';
import { childOf, readCpuMs, readResident, startFloor } from './processes.ts';
import { inDirectory, withDev, type DevSetting } from './setting.ts';
import { createAndDelete, forEach, type Range } from './volume.ts';

const programs = ['controller', 'gateway'] as const;
const targets = [
  { concurrency: 1, target: '≤ 4 ms' },
  { concurrency: 8, target: '≤ 2 ms' },
] as const;
const warmUp = 1_000;
const pairs = 3_000;
const allPairs = 20_000;
const settleMs = 2_000;

/** Measures the CPU time and memory of creating and deleting volumes. */
export const createBench: Bench = {
  name: 'create',
  doc: `CPU of CreateVolume + DeleteVolume in controller and gateway together, beside an empty gRPC server and a bare Hono route; their memory after ${allPairs}`,
  run: () => inDirectory(dir => withDev(dir, measureCreate)),
};

/** Creates and deletes one volume. */
type Work = (index: number) => Promise<void>;

async function measureCreate({ dir, dev, csi }: DevSetting): Promise<readonly Figure[]> {
  const ours = programs.map(program => childOf(dev.pid, program));
  const work: Work = index => createAndDelete(csi.controller, `pvc-${index}`);
  const floor = await openFloor(dir);
  const figures: Figure[] = [];
  let from = 0;
  for (const { concurrency, target } of targets) {
    figures.push({
      name: `CreateVolume + DeleteVolume at concurrency ${concurrency}`,
      value: await measureCpu(ours, work, { from, concurrency }),
      unit: 'ms CPU',
      floor: {
        name: 'an empty gRPC server and a bare Hono route',
        value: await measureCpu(floor.pids, floor.work, { from, concurrency }),
      },
      target,
    });
    from += warmUp + pairs;
  }
  await forEach({ from, to: allPairs, concurrency: 8 }, work);
  await pause(settleMs);
  for (const [index, program] of programs.entries())
    figures.push({
      name: `${program} after ${allPairs}, resident`,
      value: readResident(ours[index] ?? 0),
      unit: 'MB',
      floor: { name: floor.names[index] ?? '', value: readResident(floor.pids[index] ?? 0) },
      target: '≤ 110 MB',
    });
  await floor.close();
  return figures;
}

/** Measures the CPU time of one pair in all these processes together, after a warm-up. */
async function measureCpu(
  pids: readonly number[],
  work: Work,
  { from, concurrency }: Omit<Range, 'to'>,
): Promise<number> {
  const start = from + warmUp;
  await forEach({ from, to: start, concurrency }, work);
  const beforeMs = readCpuMs(pids);
  await forEach({ from: start, to: start + pairs, concurrency }, work);
  return (readCpuMs(pids) - beforeMs) / pairs;
}

/** Starts a server for each half of the path, which only answers, and a client of both. */
async function openFloor(dir: string) {
  const socket = join(dir, 'empty.sock');
  const grpc = await startFloor('empty-grpc.ts', socket);
  const http = await startFloor('bare-hono.ts');
  const client: CsiClient = connectCsi(`unix://${socket}`);
  const pool = new Pool(`http://127.0.0.1:${(http.ready as { readonly port: number }).port}`);
  const put = async (path: string): Promise<void> => {
    const body = JSON.stringify({
      name: path,
      requiredBytes: 2 ** 30,
      capabilities: [{ accessType: 'mount' }],
    });
    const headers = { 'content-type': 'application/json' };
    const response = await pool.request({ method: 'PUT', path, headers, body });
    await response.body.dump();
  };
  return {
    pids: [grpc, http].map(({ child }) => child.pid ?? 0),
    names: ['an empty grpc-js server after as many calls', 'a bare Hono route'],
    async work(index: number) {
      await createAndDelete(client, `pvc-${index}`);
      for (let request = 0; request < 2; request++) await put(`/v1/volumes/pvc-${index}`);
    },
    async close() {
      client.close();
      await pool.close();
      for (const { child } of [grpc, http]) child.disconnect();
    },
  };
}
