import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { createClient, type StorageClient } from '../../../src/api/client.ts';
import { volumeSpec } from '../../harness/gateway.ts';
import { prepareGateway } from '../../harness/gateway/program.ts';
import { signerOf } from '../../harness/gateway/signers.ts';
import { cli, startProgram, type ProgramProcess } from '../../harness/program.ts';
import type { CleanupScope } from '../../harness/temporary.ts';
import { inScope, timeAlternately, type Bench, type Figure } from '../figure.ts';
import { noisesOf, send, type Noise } from './noises.ts';
import { fillStore } from './store.ts';
import type { SliceTimes } from './time-slices.ts';

const rounds = 100;
const deadlineMs = 60_000;

/** Measures a cluster's waiting times while another one keeps the gateway busy. */
export const fairnessBench: Bench = {
  name: 'fairness',
  doc: 'PUT and DELETE of a volume by one cluster while another that has as much of everything as it may have has ten requests, or 500 creates, under way all the time, beside the same alone; the longest time slices of the event loop meanwhile',
  run: () => inScope(measureFairness),
};

async function measureFairness(t: CleanupScope): Promise<readonly Figure[]> {
  const { gateway, url } = await startGateway(t);
  const calm = createClient({ url, token: () => tokenOf('quiet') });
  t.after(() => calm.close());
  const [noisy, crowded, full] = [await tokenOf('noisy'), await tokenOf('crowded'), await tokenOf('full')];
  const noises = noisesOf(url, { noisy, crowded, full });
  for (const [name, noise] of Object.entries(noises)) await requireStatus(name, noise);
  const slicesAlone = await measureSlices(gateway, calm);
  const figures: Figure[] = [];
  for (const [name, noise] of Object.entries(noises)) {
    const alone = await measurePairs(calm);
    const [pairs, slices] = await beside(noise, async () => [
      await measurePairs(calm),
      await measureSlices(gateway, calm),
    ]);
    const slice = (what: string, key: keyof SliceTimes): Figure => ({
      name: `${what} of the event loop beside ${name}`,
      value: slices[key],
      unit: 'ms CPU',
      floor: ['the same alone', slicesAlone[key]],
      target: '≤ 5 ms',
    });
    figures.push(
      {
        name: `PUT + DELETE beside ${name}`,
        value: pairs,
        unit: 'ms',
        floor: ['the same alone, just before', alone],
        target: '≤ 2×',
      },
      slice('longest time slice', 'maxMs'),
      slice('99 of 100 time slices', 'usualMs'),
    );
  }
  return figures;
}

/** Fails unless a noise gets its expected status, without which it would prove nothing. */
async function requireStatus(name: string, noise: Noise): Promise<void> {
  const { status } = noise;
  if (status === undefined) return;
  const answer = await send(noise, 'first');
  const text = await answer.text();
  if (answer.status !== status)
    throw new Error(`${name}: was answered ${answer.status}, not ${status}: ${text.slice(0, 500)}`);
}

/**
 * Measures the CPU time of the gateway's thread in time slices of its event loop during pairs, garbage collections
 * included.
 */
async function measureSlices(gateway: ProgramProcess, client: StorageClient): Promise<SliceTimes> {
  await gateway.ask({});
  await measurePairs(client);
  return (await gateway.ask({})) as SliceTimes;
}

/** Runs work while a separate thread sends the noise. */
async function beside<T>(noise: Noise, work: () => Promise<T>): Promise<T> {
  const worker = new Worker(new URL('noise.ts', import.meta.url), { workerData: noise });
  try {
    await once(worker, 'message');
    return await work();
  } finally {
    await worker.terminate();
  }
}

/** Returns the median time of a PUT and a DELETE in milliseconds. */
async function measurePairs(client: StorageClient): Promise<number> {
  const volumeId = 'quiet.one';
  const pair = async (): Promise<void> => {
    await client.createVolume({ volumeId, body: volumeSpec('one') }, call());
    await client.deleteVolume({ volumeId }, call());
  };
  return (await timeAlternately(rounds, { pair })).pair;
}

function call(): { readonly deadlineMs: number } {
  return { deadlineMs: Date.now() + deadlineMs };
}

async function tokenOf(name: string): Promise<string> {
  return (await signerOf(name)).sign();
}

/** Starts a gateway that measures its time slices, on a full store. */
async function startGateway(t: CleanupScope) {
  const clusters = { quiet: {}, noisy: {}, crowded: {}, full: { quota: { volumes: 0 } } };
  const directory = await prepareGateway(t, { pools: { main: { backend: 'memory' } }, clusters });
  const [config, store] = [join(directory, 'gateway.yaml'), join(directory, 'store.sqlite')];
  await fillStore(store);
  const slices = new URL('time-slices.ts', import.meta.url).href;
  const flags = { config, store, listen: '127.0.0.1:0' };
  // The gateway writes its log, and this process does not read it.
  const by = ['sh', '-c', 'exec "$@" 2> /dev/null', 'sh'];
  const gateway = startProgram('gateway', flags, { by, node: ['--import', slices, cli, 'gateway'] });
  t.after(() => gateway.end());
  return { gateway, url: (await gateway.ready)['gateway'] ?? '' };
}
