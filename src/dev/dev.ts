import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { createClient } from '../api/client.ts';
import type { Segments } from '../api/topology.ts';
import { makeKey, publicHalf, type PrivateJwk } from '../api/http/jwt.ts';
import { createTokenSource } from '../api/http/tokens.ts';
import { formatAdvertised } from '../csi/identity.ts';
import { poll } from '../lib/concurrency.ts';
import { makeDirectories } from '../lib/directories.ts';
import type { Running } from '../lib/lifecycle.ts';
import { isSocketAnswered } from '../lib/unix-socket.ts';
import { startChild, type Child, type ChildSettings } from './children.ts';
import type { DevConfig } from './config.ts';
import { endWithParent } from './parent.ts';

/** The name under which `fairlead dev` enrolls its own controller. */
export const devCluster = 'dev';

/** The pools of a gateway, as its configuration file has them. */
type PoolSettings = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** How long the processes of an instance that was killed may take to end, in milliseconds. */
const vacateTimeoutMs = 15_000;
const registerTimeoutMs = 10_000;

/** Starts all three, each as a process, and registers the node; calls `fail` when one ends by itself. */
export async function startDev(config: DevConfig, fail: (how: string) => void): Promise<Running> {
  const { dir, topology } = config;
  const sockets = { controller: join(dir, 'controller.sock'), node: join(dir, 'node.sock') };
  await Promise.all(Object.values(sockets).map(requireVacant));
  const pools = await poolsOf(config);
  const { keyFile, configFile } = await enroll(dir, pools);
  const children: Child[] = [];
  let closing = false;
  await using opened = new AsyncDisposableStack();
  opened.use(endWithParent());
  opened.defer(async () => {
    closing = true;
    await Promise.all(children.map(child => child.close()));
  });
  const start = (program: string, settings: ChildSettings): Child['ready'] => {
    const child = startChild(program, { ...settings, 'log-level': config['log-level'] });
    children.push(child);
    return child.ready;
  };
  const store = join(dir, 'store.sqlite');
  const { gateway = '' } = await start('gateway', { config: configFile, store, listen: config.listen });
  const plugin = { 'plugin-capabilities': formatAdvertised(config['plugin-capabilities']) };
  const cluster = { cluster: devCluster, 'key-file': keyFile };
  const [controller, node] = await Promise.all([
    start('controller', {
      ...plugin,
      ...cluster,
      endpoint: sockets.controller,
      gateway,
      // It may listen for others as well, as on 0.0.0.0, but is on this machine.
      'allow-http': 'true',
    }),
    start('node', {
      ...plugin,
      endpoint: sockets.node,
      'node-id': config['node-id'],
      'gateway-keys-file': await fetchKeys(gateway, join(dir, 'gateway.jwks.json')),
      'state-dir': join(dir, 'node'),
      'kubelet-dir': config['kubelet-dir'],
      'local-roots': [rootsOf(pools), ...(config['local-roots'] ?? [])].join('\n'),
      'shutdown-grace': '0s',
      'default-fs': config['default-fs'],
      topology: topology?.text,
    }),
  ]);
  const { nodeId = '' } = node;
  await registerNodes(gateway, keyFile, { nodeIds: [nodeId], topology: topology?.segments });
  for (const child of children) void child.ended.then(how => closing || fail(how));
  const open = opened.move();
  return { ready: { gateway, ...controller, ...node }, close: () => open.disposeAsync() };
}

/** The pools of the file that was given, which has nothing else, or one of image files. What is wrong with them, the gateway reports. */
async function poolsOf({ dir, config, capacity, topology }: DevConfig): Promise<PoolSettings> {
  if (config !== undefined) {
    const { pools = {}, ...rest } = await readMembers(config);
    const others = Object.keys(rest).join('", "');
    if (others !== '')
      throw new Error(`${config}: has "${others}", and dev takes pools alone: the rest is its own`);
    return pools as PoolSettings;
  }
  const images = join(dir, 'images');
  await makeDirectories(images);
  return {
    images: {
      backend: 'image',
      dir: images,
      ...(capacity !== undefined && { capacity }),
      ...(topology && { topology: topology.segments }),
    },
  };
}

async function readMembers(path: string): Promise<Readonly<Record<string, unknown>>> {
  const text = await readFile(path, 'utf8');
  try {
    const members: unknown = parse(text);
    if (members?.constructor === Object) return members as Readonly<Record<string, unknown>>;
    throw new Error('has no members, such as pools');
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`, { cause: error });
  }
}

/** The directories of pools on this machine, as the node agent's setting. */
export function rootsOf(pools: PoolSettings): string {
  const roots = Object.values(pools).map(pool => pool?.['dir']);
  return roots.map(root => (typeof root === 'string' ? `${root}\n` : '')).join('');
}

/** Writes `gateway.yaml` with pools, a cluster and operators, and private keys (mode 0600) that are missing. */
export async function enroll(dir: string, pools: PoolSettings) {
  await makeDirectories(dir);
  const configFile = join(dir, 'gateway.yaml');
  const keyFile = await enrollKey(join(dir, 'controller.jwk.json'), join(dir, 'dev.jwks.json'));
  const operatorKeyFile = await enrollKey(join(dir, 'operator.jwk.json'), join(dir, 'operators.jwks.json'));
  const clusters = { [devCluster]: { keys: 'dev.jwks.json' } };
  await replaceFile(configFile, stringify({ pools, clusters, operators: { keys: 'operators.jwks.json' } }));
  return { configFile, keyFile, operatorKeyFile };
}

async function enrollKey(path: string, keySetPath: string): Promise<string> {
  await replaceFile(
    keySetPath,
    JSON.stringify({ keys: [publicHalf((await readJwk(path)) ?? (await makeJwk(path)))] }),
  );
  return path;
}

async function readJwk(path: string): Promise<PrivateJwk | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as PrivateJwk;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`key file "${path}" cannot be read or is not JSON`, { cause: error });
  }
}

async function makeJwk(path: string): Promise<PrivateJwk> {
  const jwk = await makeKey(crypto.randomUUID());
  await replaceFile(path, JSON.stringify(jwk));
  return jwk;
}

/** A file that is cut short would have to be removed by hand. */
async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  await writeFile(temporary, text, { mode: 0o600, flush: true });
  await rename(temporary, path);
}

/** Writes the gateway's public keys to a file, by which the node knows what it signed. */
export async function fetchKeys(gateway: string, path: string): Promise<string> {
  const answer = await fetch(`${gateway}/.well-known/jwks.json`);
  await replaceFile(path, await answer.text());
  return path;
}

/** Makes nodes known to the gateway as the development cluster's, which `keyFile` is a key of. */
export async function registerNodes(
  gateway: string,
  keyFile: string,
  { nodeIds, topology }: { readonly nodeIds: readonly string[]; readonly topology?: Segments | undefined },
): Promise<void> {
  const token = createTokenSource({ keyFile, issuer: devCluster, audience: 'fairlead', lifetimeMs: 60_000 });
  const client = createClient({ url: gateway, token });
  try {
    for (const nodeId of nodeIds)
      await client.putNode({ nodeId, body: { topology } }, { deadlineMs: Date.now() + registerTimeoutMs });
  } finally {
    await client.close();
  }
}

async function requireVacant(socketPath: string): Promise<void> {
  const isVacant = async (): Promise<true | undefined> => !(await isSocketAnswered(socketPath)) || undefined;
  if (!(await poll(isVacant, { everyMs: 50, timeoutMs: vacateTimeoutMs })))
    throw new Error(`socket "${socketPath}" is in use by a live instance`);
}
