import type { TestContext } from 'node:test';
import type { Call } from '../../../src/api/http.ts';
import { createClient, type StorageClient } from '../../../src/api/client.ts';
import type { Volume } from '../../../src/api/volume.ts';
import { startStorageApi, type Step, type StorageApi } from '../../fakes/storage-api.ts';

/** A token that must never appear in an error. */
export const canary = 'canary.5ecret.token';

/** A request for a new volume. */
export const spec = { name: 'pvc-1', capabilities: [] };

/** A client, and the two calls that most tests make. */
export type Caller = {
  readonly client: StorageClient;
  readonly get: (ms?: number, signal?: AbortSignal) => Promise<Volume>;
  readonly create: (ms?: number, signal?: AbortSignal) => Promise<Volume>;
};

/** Makes a client that ends with its test. */
export function callerOf(
  t: TestContext,
  url: string,
  token: (renew: boolean) => Promise<string> = async () => canary,
): Caller {
  const client = createClient({ url, token });
  t.after(() => client.close());
  return {
    client,
    get: (ms, signal) => client.getVolume({ volumeId: 'a.pvc-1' }, within(ms, signal)),
    create: (ms, signal) => client.createVolume({ volumeId: 'a.pvc-1', body: spec }, within(ms, signal)),
  };
}

/** Starts a server that answers by its script, and a client of it. */
export async function scripted(
  t: TestContext,
  script: readonly Step[],
  token?: (renew: boolean) => Promise<string>,
): Promise<Caller & { readonly api: StorageApi }> {
  const api = await startStorageApi(t, script);
  return { api, ...callerOf(t, api.url, token) };
}

/** Makes a call with this timeout. */
export function within(ms = 5_000, signal?: AbortSignal): Call {
  return { deadlineMs: Date.now() + ms, requestId: 'r-0', ...(signal && { signal }) };
}
