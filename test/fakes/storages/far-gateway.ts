import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import * as z from 'zod';
import { openMemory, type MemoryBackend } from '../../../gateway/backends/memory.ts';
import { rest } from '../../../gateway/backends/rest.ts';
import type { Backend, BackendPlugin } from '../../../gateway/backend.ts';
import { createIdentity, type OwnIdentity } from '../../../gateway/pools/identity.ts';
import { silentLog } from '../../../src/lib/log.ts';
import type { Content } from '../../suites/backend-fixtures.ts';
import { runGateway, type RunningGateway } from '../../harness/gateway/program.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';

/** Makes the identity of a gateway of this name, and the file of its public keys. */
export async function makeIdentity(
  t: TestContext,
  name: string,
): Promise<{ readonly identity: OwnIdentity; readonly keys: string }> {
  const directory = temporaryDirectory(t);
  const identity = createIdentity(name, join(directory, 'keys.json'));
  await identity.token('anybody', false);
  const keys = join(directory, 'public.json');
  writeFileSync(keys, JSON.stringify(await identity.keySet()));
  return { identity, keys };
}

/**
 * Opens a pool over REST whose storage is a gateway with a pool in memory, and the content of its volumes. `own` replaces
 * members of that pool.
 */
export async function openOverGateway(
  t: TestContext,
  own: Partial<Backend> = {},
): Promise<{ readonly backend: Backend; readonly content: Content; readonly far: RunningGateway }> {
  const memory = openMemory({ capacity: 4 * 2 ** 30 });
  const { identity, keys } = await makeIdentity(t, 'near');
  const plugin: BackendPlugin = {
    settings: z.strictObject({}),
    open: async () => Object.assign(memory, own),
  };
  const pools = { main: { backend: 'memory' } };
  const far = await runGateway(t, { pools, clusters: { near: { keys } }, plugins: { memory: plugin } });
  const settings = rest.settings.parse({ url: far.url, audience: 'fairlead' });
  const backend = await rest.open(settings, { name: 'test', log: silentLog, identity });
  t.after(() => backend.close?.());
  return { backend, content: await contentOf(memory), far };
}

/** Reads and writes the content of volumes; of two volumes with one id, the older one counts. */
async function contentOf(memory: MemoryBackend): Promise<Content> {
  const made: string[] = [];
  const { create } = memory;
  memory.create = async volume => {
    made.push(volume.id);
    return create(volume);
  };
  const find = (id: string): string => made.find(one => one.startsWith(`near.test.${id}.`)) ?? id;
  return {
    write: (id, offset, bytes) => memory.write(find(id), offset, bytes),
    read: (id, offset, length) => memory.read(find(id), offset, length),
  };
}
