import { join } from 'node:path';
import { Pool } from 'undici';
import { connectCsi, type CsiClient } from '../../src/csi/client.ts';
import { pause } from '../../src/lib/concurrency.ts';
import { allRounds, measureAlternately, type Work } from './cost.ts';
import type { Bench, Figure } from './figure.ts';
import { measureGateway } from './gateway.ts';
import { childOf, readResident, startFloor } from './processes.ts';
import { inDirectory, inScope, withDev, type DevSetting } from './setting.ts';
import { createAndDelete, forEach } from './volume.ts';

const programs = ['controller', 'gateway'] as const;
const targets = [
  { concurrency: 1, target: '≤ 4 ms' },
  { concurrency: 8, target: '≤ 2 ms' },
] as const;
const perRound = 250;
const allPairs = 20_000;
const settleMs = 2_000;

/** Measures the CPU time and memory of creating and deleting volumes. */
export const createBench: Bench = {
  name: 'create',
  doc: `CPU of CreateVolume + DeleteVolume in controller and gateway together, beside an empty gRPC server and a bare Hono route; their memory after ${allPairs}; CPU of reads, of creates on PostgreSQL and of a pool over a vendor in the gateway alone`,
  run: async () => [
    ...(await inDirectory(dir => withDev(dir, measureCreate))),
    ...(await inScope(measureGateway)),
  ],
};

async function measureCreate({ dir, dev, csi }: DevSetting): Promise<readonly Figure[]> {
  const pids = programs.map(program => childOf(dev.pid, program));
  const run: Work['run'] = index => createAndDelete(csi.controller, `pvc-${index}`);
  const floor = await openFloor(dir);
  const figures: Figure[] = [];
  for (const { concurrency, target } of targets) {
    const [ours, theirs] = await measureAlternately([{ pids, run }, floor], { perRound, concurrency });
    figures.push({
      name: `CreateVolume + DeleteVolume at concurrency ${concurrency}`,
      value: ours.cpuMs,
      unit: 'ms CPU',
      floor: { name: 'an empty gRPC server and a bare Hono route', value: theirs.cpuMs },
      target,
    });
  }
  await forEach({ from: targets.length * allRounds * perRound, to: allPairs, concurrency: 8 }, run);
  await pause(settleMs);
  for (const [index, program] of programs.entries())
    figures.push({
      name: `${program} after ${allPairs}, resident`,
      value: readResident(pids[index] ?? 0),
      unit: 'MB',
      floor: { name: floor.names[index] ?? '', value: readResident(floor.pids[index] ?? 0) },
      target: '≤ 110 MB',
    });
  await floor.close();
  return figures;
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
    async run(index: number) {
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
