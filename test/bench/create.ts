import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { connectCsi } from '../../src/csi/client.ts';
import { openDev } from '../harness/dev.ts';
import type { CleanupScope } from '../harness/temporary.ts';
import { inScope, type Bench, type Figure } from './figure.ts';
import { measureGateway, openFloor } from './gateway.ts';
import {
  allRounds,
  childOf,
  forEach,
  measureAlternately,
  readSettled,
  startFloor,
  type Work,
} from './processes.ts';
import { createAndDelete, unlimited } from './volume.ts';

const programs = ['controller', 'gateway'] as const;
const targets = [
  { concurrency: 1, target: '≤ 4 ms' },
  { concurrency: 8, target: '≤ 2 ms' },
] as const;
const perRound = 250;
/** The calls in flight when a rate is measured. */
const inFlight = 32;
const allPairs = 20_000;
/** The index of the first volume of the rate; each volume has a name of its own. */
const rateFrom = targets.length * allRounds * perRound;

/** Measures the CPU time and memory of creating and deleting volumes. */
export const createBench: Bench = {
  name: 'create',
  doc: `CPU of CreateVolume + DeleteVolume in controller and gateway together, beside an empty gRPC server and a bare Hono route; their memory after ${allPairs}; CPU of reads, of creates on PostgreSQL and of a pool over a vendor in the gateway alone`,
  run: async () => [...(await inScope(measurePairs)), ...(await inScope(measureGateway))],
};

async function measurePairs(t: CleanupScope): Promise<readonly Figure[]> {
  const { dir, dev, controller } = await openDev(t, unlimited);
  const pids = programs.map(program => childOf(dev.pid, program));
  const run: Work['run'] = index => createAndDelete(controller, `pvc-${index}`);
  const floor = await startBarePath(t, join(dir, 'empty.sock'));
  const figures: Figure[] = [];
  for (const { concurrency, target } of targets) {
    const [ours, theirs] = await measureAlternately([{ pids, run }, floor], { perRound, concurrency });
    figures.push({
      name: `CreateVolume + DeleteVolume at concurrency ${concurrency}`,
      value: ours.cpuMs,
      unit: 'ms CPU',
      floor: ['an empty gRPC server and a bare Hono route', theirs.cpuMs],
      target,
    });
  }
  const raw: Work = { pids: [], run: index => createAndDeleteFile(dir, `raw-${index}`) };
  const rated = { pids: [], run: (index: number) => run(rateFrom + index) };
  const [ours, theirs] = await measureAlternately([rated, raw], { perRound, concurrency: inFlight });
  figures.push({
    name: `CreateVolume + DeleteVolume at ${inFlight} in flight`,
    value: 1_000 / ours.ms,
    unit: '/s',
    floor: ['the same files by raw calls, each with its own syncs', 1_000 / theirs.ms],
  });
  await forEach({ from: rateFrom + allRounds * perRound, to: allPairs, concurrency: 8 }, run);
  for (const [index, program] of programs.entries())
    figures.push({
      name: `${program} after ${allPairs}, resident`,
      value: await readSettled(pids[index] ?? 0),
      unit: 'MB',
      floor: [floor.names[index] ?? '', await readSettled(floor.pids[index] ?? 0)],
      target: '≤ 110 MB',
    });
  return figures;
}

/** Creates and deletes a sparse file of 1 GiB durably, as the backend `image` must. */
async function createAndDeleteFile(dir: string, name: string): Promise<void> {
  const file = await open(join(dir, name), 'wx');
  await file.truncate(2 ** 30);
  await file.sync();
  await file.close();
  await syncDirectory(dir);
  await unlink(join(dir, name));
  await syncDirectory(dir);
}

async function syncDirectory(dir: string): Promise<void> {
  const directory = await open(dir);
  await directory.sync();
  await directory.close();
}

/** Starts a server for each half of the path, which only answers, and a client of both. */
async function startBarePath(t: CleanupScope, socket: string) {
  const grpc = await startFloor(t, 'empty-grpc.ts', socket);
  const http = await openFloor(t, 'bare-hono.ts');
  const client = connectCsi(`unix://${socket}`);
  t.after(client.close);
  return {
    pids: [grpc.pid, ...http.pids],
    names: ['an empty grpc-js server after as many calls', 'a bare Hono route'],
    async run(index: number) {
      await createAndDelete(client, `pvc-${index}`);
      for (let request = 0; request < 2; request++) await http.send('PUT', `pvc-${index}`);
    },
  };
}
