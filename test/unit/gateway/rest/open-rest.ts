import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Backend } from '../../../../gateway/backend.ts';
import { rest } from '../../../../gateway/backends/rest.ts';
import { currentRequest, requireCaller } from '../../../../gateway/scheduling/current-request.ts';
import type { Capabilities } from '../../../../src/api/storage.ts';
import { json, startStorageApi, type Step, type StorageApi } from '../../../fakes/storage-api.ts';
import { createMemoryLog, temporaryDirectory } from '../../../harness/gateway.ts';

/** The default capabilities of the storage. */
export const offer: Capabilities = {
  version: '1',
  accessModes: ['SINGLE_NODE_WRITER'],
  accessTypes: ['mount', 'block'],
  features: ['expand'],
  zeroed: true,
  pools: [],
};

type OpenedPool = {
  readonly backend: Backend;
  readonly api: StorageApi;
  readonly logLines: readonly string[];
};

type Settings = Readonly<Record<string, unknown>> & { readonly offered?: Capabilities };

/** Opens the pool `acme` over a storage with these answers, after it has reported its capabilities. */
export async function openRest(
  t: TestContext,
  steps: readonly Step[],
  { offered = offer, ...settings }: Settings = {},
): Promise<OpenedPool> {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'token'), 'secret\n');
  // The capabilities are requested when the pool is opened, and again at once.
  const api = await startStorageApi(t, [json(200, offered), json(200, offered), ...steps]);
  const { log, lines } = createMemoryLog();
  const values = rest.settings.parse({ url: api.url, token: 'token', tries: 1, ...settings });
  const backend = await rest.open(values, { name: 'acme', log, directory, currentRequest, requireCaller });
  t.after(() => backend.close?.());
  await api.until(2);
  return { backend, api, logLines: lines };
}
