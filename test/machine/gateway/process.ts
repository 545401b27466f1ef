import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Call } from '../../../src/api/http.ts';
import type { StorageClient } from '../../../src/api/client.ts';
import type { Volume } from '../../../src/api/volume.ts';
import { Problem, problemTable } from '../../../src/api/problem.ts';
import {
  callWithin,
  prepareGateway,
  type GatewayRun,
  type RunningGateway,
} from '../../harness/gateway/program.ts';
import type { CleanupScope } from '../../harness/temporary.ts';

/** The lease of gateways in processes, in milliseconds: long enough that a busy machine does not lose a claim. */
export const leaseMs = 1_000;
/** The interval of a sidecar's retries; in a cluster it is seconds. */
const retryMs = 100;
const patienceMs = Number(process.env['PATIENCE_MS'] ?? 60_000);

/** A request of a cluster. */
export type Ask = (client: StorageClient, call: Call) => Promise<unknown>;

/** Makes a directory with the configuration of such gateways, with the given pools or one of image files. */
export const prepareDirectory = (t: CleanupScope, pools: GatewayRun['pools'] = 'images'): Promise<string> =>
  prepareGateway(t, { pools, clusters: { a: { acceptAnyNode: true } } });

/** Sends a request once; the gateway may die before its answer. */
export async function askAndLose({ client, ended }: RunningGateway, ask: Ask): Promise<void> {
  const asked = ask(client, callWithin(patienceMs)).then(
    () => assert.fail('it answered and should have died before'),
    () => undefined,
  );
  assert.equal(await ended, 'SIGKILL');
  await client.close();
  await asked;
}

/** Repeats a request after every failure that is not final, as sidecars do. */
export function askPatiently<T>(
  { client }: Pick<RunningGateway, 'client'>,
  ask: (client: StorageClient, call: Call) => Promise<T>,
): Promise<T> {
  return untilFinal(call => ask(client, call));
}

/** Repeats work after every failure that is not final, by default for at most PATIENCE_MS, or a minute. */
export async function untilFinal<T>(work: (call: Call) => Promise<T>, maxMs = patienceMs): Promise<T> {
  const deadlineMs = Date.now() + maxMs;
  for (;;) {
    try {
      return await work({ deadlineMs });
    } catch (error) {
      const tryAgain = error instanceof Problem && !problemTable[error.code].final;
      if (!tryAgain || Date.now() > deadlineMs) throw error;
      await sleep(retryMs);
    }
  }
}

/** Lists all volumes, page by page. */
export async function listAll(client: StorageClient): Promise<readonly Volume[]> {
  const all: Volume[] = [];
  let pageToken: string | undefined;
  do {
    const page = await client.listVolumes({ pageToken }, callWithin(10_000));
    all.push(...page.volumes);
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  return all;
}

/** Reads the changes of the storage from the journal, as `method id`. */
export function effectsOf(directory: string): readonly string[] {
  const lines = readFileSync(join(directory, 'journal'), 'utf8').trim().split('\n');
  return lines
    .map(line => JSON.parse(line) as { method: string; id: string; done: boolean })
    .filter(({ method, done }) => done && method !== 'capacity')
    .map(({ method, id }) => `${method} ${id}`);
}
