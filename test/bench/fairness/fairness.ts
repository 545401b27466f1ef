import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { createClient, type StorageClient } from '../../../src/api/client.ts';
import { maxBodyBytes } from '../../../src/api/operations.ts';
import { volumeSpec } from '../../harness/gateway.ts';
import { signerOf } from '../../harness/gateway/signers.ts';
import { prepareGateway } from '../../harness/gateway/program.ts';
import { argvOf, cli } from '../../harness/program.ts';
import type { CleanupScope } from '../../harness/temporary.ts';
import { timed, type Bench, type Figure } from '../figure.ts';
import { fillStore, noisesAtLimits } from './limits.ts';
import type { Noise } from './noise.ts';
import type { SliceTimes } from './time-slices.ts';
import { inScope } from '../setting.ts';
import { median } from '../../harness/values.ts';
import { endProcess } from '../../harness/exit.ts';

const rounds = 100;
const deadlineMs = 60_000;
const quiet = 'quiet';
const noisy = 'noisy';
const full = 'full';

/** Measures a cluster's waiting times while another one keeps the gateway busy. */
export const fairnessBench: Bench = {
  name: 'fairness',
  doc: 'PUT and DELETE of a volume by one cluster while another that has as much of everything as it may have has ten requests, or 500 creates, under way all the time, beside the same alone',
  run: () => inScope(measureFairness),
};

async function measureFairness(t: CleanupScope): Promise<readonly Figure[]> {
  const gateway = await startGateway(t);
  const clientOf = (name: string): StorageClient =>
    createClient({ url: gateway.url, token: () => tokenOf(name) });
  const calm = clientOf(quiet);
  const token = await tokenOf(noisy);
  const noises = {
    ...noisesOf(`${gateway.url}/v1/volumes`, token),
    ...noisesAtLimits(`${gateway.url}/v1`, {
      token,
      crowdedToken: await tokenOf('crowded'),
      fullToken: await tokenOf(full),
    }),
  };
  for (const [name, noise] of Object.entries(noises)) await requireStatus(name, noise);
  const figures: Figure[] = [];
  for (const [name, noise] of Object.entries(noises)) {
    const alone = await measure(calm);
    figures.push({
      name: `PUT + DELETE beside ${name}`,
      value: await beside(noise, () => measure(calm)),
      unit: 'ms',
      floor: { name: 'the same alone, just before', value: alone },
      target: '≤ 2×',
    });
  }
  const slicesAlone = await measureSlices(gateway.child, () => measure(calm));
  for (const [name, noise] of Object.entries(noises)) {
    const slices = await beside(noise, () => measureSlices(gateway.child, () => measure(calm)));
    const rows = [
      ['longest time slice of the event loop', slices.maxMs, slicesAlone.maxMs, '≤ 5 ms'],
      ['longest without a full collection', slices.plainMs, slicesAlone.plainMs, undefined],
      ['longest of 99 in 100', slices.usualMs, slicesAlone.usualMs, undefined],
    ] as const;
    for (const [what, value, floor, target] of rows)
      figures.push({
        name: `${what} beside ${name}`,
        value,
        unit: 'ms CPU',
        floor: { name: 'the same alone', value: floor },
        target,
      });
  }
  await calm.close();
  await endProcess(gateway.child, 'SIGTERM');
  return figures;
}

function noisesOf(url: string, token: string): Readonly<Record<string, Noise>> {
  const requisite = Array.from({ length: 8_192 }, (_, index) => ({
    'csi.fairlead.dev/zone': `zone-${index}`,
    'kubernetes.io/hostname': `node-${index}`,
  }));
  const where = { ...volumeSpec('where'), topology: { requisite, preferred: requisite } };
  const put = { method: 'PUT', token };
  const creates = { ...put, url: `${url}/${noisy}.n#`, body: JSON.stringify(volumeSpec('n#')) };
  return {
    'topologies of 16384 terms': { ...put, url: `${url}/${noisy}.where`, body: JSON.stringify(where) },
    'bodies of 1.25 MiB': { ...put, url: `${url}/${noisy}.x`, body: longBody() },
    'bodies of 1.25 MiB in chunks': { ...put, url: `${url}/${noisy}.x`, body: longBody(), isChunked: true },
    'bodies of 2 MB without a token': {
      ...put,
      url: `${url}/${noisy}.x`,
      token: '',
      body: 'x'.repeat(2_000_000),
    },
    creates,
    '500 creates at a time': { ...creates, atOnce: 500 },
  };
}

/** Makes a body of the maximum length: lists that no schema accepts. */
function longBody(): string {
  const lists = Array.from({ length: 13 }, (_, index) => [`list-${index}`, Array(8_000).fill('123456789')]);
  return JSON.stringify(Object.fromEntries(lists)).padEnd(maxBodyBytes);
}

/** Fails unless a noise gets its expected status, without which it would prove nothing. */
async function requireStatus(name: string, { url, method, token, body, status }: Noise): Promise<void> {
  if (status === undefined) return;
  const answer = await fetch(url.replace('#', 'first'), {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body !== undefined && { body: body.replace('#', 'first') }),
  });
  const text = await answer.text();
  if (answer.status !== status)
    throw new Error(`${name}: was answered ${answer.status}, not ${status}: ${text.slice(0, 500)}`);
}

/**
 * Measures the longest CPU time of the gateway's thread in one time slice of its event loop during `work`, garbage
 * collections included.
 */
async function measureSlices(gateway: ChildProcess, work: () => Promise<unknown>): Promise<SliceTimes> {
  gateway.send('begin');
  await work();
  gateway.send('end');
  const [times] = (await once(gateway, 'message')) as [SliceTimes];
  return times;
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

async function measure(client: StorageClient): Promise<number> {
  const samples: number[] = [];
  for (let round = 0; round < rounds; round++)
    samples.push(
      await timed(async () => {
        await client.createVolume({ volumeId: `${quiet}.one`, body: volumeSpec('one') }, call());
        await client.deleteVolume({ volumeId: `${quiet}.one` }, call());
      }),
    );
  return median(samples);
}

async function tokenOf(name: string): Promise<string> {
  return (await signerOf(name)).sign();
}

/** Starts a gateway that measures its time slices, on a full store. */
async function startGateway(t: CleanupScope) {
  const clusters = { [quiet]: {}, [noisy]: {}, crowded: {}, [full]: { quota: { volumes: 0 } } };
  const directory = await prepareGateway(t, { pools: { main: { backend: 'memory' } }, clusters });
  const [config, store] = [join(directory, 'gateway.yaml'), join(directory, 'store.sqlite')];
  await fillStore(store);
  const child = fork(cli, ['gateway', ...argvOf({ config, store, listen: '127.0.0.1:0' })], {
    execArgv: ['--import', new URL('time-slices.ts', import.meta.url).href],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const [{ ready }] = (await once(child, 'message')) as [{ readonly ready: { readonly gateway: string } }];
  return { child, url: ready.gateway };
}

function call(): { readonly deadlineMs: number } {
  return { deadlineMs: Date.now() + deadlineMs };
}
