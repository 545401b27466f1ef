import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { z } from 'zod';
import { openMemory, type MemoryBackend } from '../../../gateway/backends/memory.ts';
import { rest } from '../../../gateway/backends/rest.ts';
import type { Backend, BackendPlugin } from '../../../gateway/backend.ts';
import { gatewaySettings } from '../../../gateway/config.ts';
import { startGateway, type GatewayOptions } from '../../../gateway/main.ts';
import { createIdentity, type OwnIdentity } from '../../../gateway/pools/identity.ts';
import { silentLog, type Log } from '../../../src/lib/log.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import type { Content } from '../../suites/backend-fixtures.ts';
import { temporaryDirectory } from '../../harness/gateway/gateway.ts';

/** The content of a gateway's configuration file. */
export type GatewayFile = {
  readonly pools: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Key files by cluster name; further members are copied to the cluster's entry. */
  readonly clusters?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly flags?: readonly string[];
  readonly plugins?: GatewayOptions['plugins'];
  readonly log?: Log;
};

/** A gateway on a port; it ends with the test, or by `close`. */
export type RunningGateway = {
  readonly url: string;
  /** The URL of its metrics, if the flags enable them. */
  readonly metrics: string | undefined;
  readonly directory: string;
  close(): Promise<void>;
};

/** Starts a gateway with this configuration, by default in a directory of its own. */
export async function serve(
  t: TestContext,
  file: GatewayFile,
  directory = temporaryDirectory(t),
): Promise<RunningGateway> {
  const { flags = [], plugins, log = silentLog, ...content } = file;
  const at = (name: string): string => join(directory, name);
  writeFileSync(at('gateway.yaml'), JSON.stringify(content));
  const argv = [
    '--config',
    at('gateway.yaml'),
    '--store',
    at('store.sqlite'),
    '--listen',
    '127.0.0.1:0',
    ...flags,
  ];
  const { values, faults } = readSettings(gatewaySettings, { argv, env: {} });
  if (!values) throw new Error(faults?.join('\n'));
  const running = await startGateway(values, log, plugins ? { plugins } : {});
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= running.close());
  t.after(close);
  const { gateway: url = '', metrics } = running.ready;
  return { url, metrics, directory, close };
}

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

/** Opens a pool over REST whose storage is a gateway with a pool in memory, and the content of its volumes. */
export async function openOverGateway(
  t: TestContext,
): Promise<{ readonly backend: Backend; readonly content: Content; readonly far: RunningGateway }> {
  const memory = openMemory({ capacity: 4 * 2 ** 30 });
  const { identity, keys } = await makeIdentity(t, 'near');
  const plugin: BackendPlugin = { settings: z.strictObject({}), open: async () => memory };
  const pools = { main: { backend: 'memory' } };
  const far = await serve(t, { pools, clusters: { near: { keys } }, plugins: { memory: plugin } });
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
