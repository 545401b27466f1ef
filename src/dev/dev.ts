import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { createClient } from '../api/client.ts';
import type { Segments } from '../api/topology.ts';
import { fetchBody } from '../api/http/body.ts';
import { createKey, publicHalf, type PrivateJwk } from '../api/http/jwt.ts';
import { createTokenSource } from '../api/http/tokens.ts';
import { formatAdvertised } from '../csi/identity.ts';
import { poll, unlessAborted } from '../lib/concurrency.ts';
import { createDirectories } from '../lib/directories.ts';
import type { RunningProgram } from '../lib/lifecycle.ts';
import { isSocketAnswered } from '../lib/unix-socket.ts';
import { reasonOf } from '../lib/words/failures.ts';
import { createNotices, withNotice } from '../lib/words/notice.ts';
import { describeYamlError } from '../lib/words/yaml.ts';
import { startChild, type Child, type ChildSettings } from './children.ts';
import type { DevConfig } from './config.ts';
import { endWithParent } from './parent.ts';

/** The name under which `fairlead dev` enrolls its own controller. */
export const devCluster = 'dev';

/** The pools of a gateway's configuration file. */
type PoolSettings = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Time limit for the end of an earlier, killed instance's processes, in milliseconds. */
const vacateTimeoutMs = 15_000;
/** Time limit for an answer of the own gateway, in milliseconds. A busy machine may need long. */
const answerTimeoutMs = 60_000;

/** The functions and the signal of a start. `fail` is called when a program ends by itself, `say` for lines about a long wait. */
type DevOptions = {
  /** Stops the start once it aborts. */
  readonly interrupt: AbortSignal;
  readonly fail: (reason: string) => void;
  readonly say: (line: string) => void;
  /**
   * Lists the faults of a gateway's configuration file, each with the file's path and the line. Packages are looked up from
   * the directory.
   */
  readonly findFaults: (path: string, packagesFrom: string) => Promise<readonly string[]>;
};

/**
 * Starts gateway, controller and node agent as processes, and registers the node. A failed or interrupted start ends once
 * these processes have ended.
 */
export async function startDev(
  config: DevConfig,
  { interrupt, fail, say, findFaults }: DevOptions,
): Promise<RunningProgram> {
  const { dir, topology } = config;
  const sockets = { controller: join(dir, 'controller.sock'), node: join(dir, 'node.sock') };
  const vacant = Promise.all(Object.values(sockets).map(requireVacant));
  const notices = createNotices({ write: line => say(line.trimEnd()) });
  const waiting = unlessAborted(interrupt, vacant);
  await withNotice(waiting, { what: `another fairlead dev in "${dir}" to end` }, notices);
  const pools = await poolsOf(config, findFaults);
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
    interrupt.throwIfAborted();
    const child = startChild(program, {
      ...settings,
      'log-level': config['log-level'],
      'log-format': config['log-format'],
    });
    children.push(child);
    return unlessAborted(interrupt, child.ready);
  };
  const store = join(dir, 'store.sqlite');
  const { gateway = '' } = await start('gateway', {
    config: configFile,
    store,
    listen: config.listen,
    console: 'true',
  });
  const gatewayKeys = await unlessAborted(interrupt, fetchKeys(gateway, join(dir, 'gateway.jwks.json')));
  const plugin = { 'plugin-capabilities': formatAdvertised(config['plugin-capabilities']) };
  const cluster = { cluster: devCluster, 'key-file': keyFile };
  const [controller, node] = await Promise.all([
    start('controller', {
      ...plugin,
      ...cluster,
      endpoint: sockets.controller,
      gateway,
      // The gateway is on this machine, even if its address, such as 0.0.0.0, is not a loopback one.
      'allow-http': 'true',
    }),
    start('node', {
      ...plugin,
      endpoint: sockets.node,
      'node-id': config['node-id'],
      'gateway-keys-file': gatewayKeys,
      'state-dir': join(dir, 'node'),
      'kubelet-dir': config['kubelet-dir'],
      'local-roots': [rootsOf(pools), ...(config['local-roots'] ?? [])].join('\n'),
      'shutdown-grace': '0s',
      'default-fs': config['default-fs'],
      'csi-drivers': config['csi-drivers'],
      topology: topology?.text,
    }),
  ]);
  const { nodeId = '' } = node;
  const own = { nodeIds: [nodeId], topology: topology?.segments };
  await unlessAborted(interrupt, registerNodes(gateway, keyFile, own));
  for (const child of children) void child.ended.then(reason => closing || fail(reason));
  const open = opened.move();
  return { ready: { gateway, ...controller, ...node }, close: () => open.disposeAsync() };
}

/**
 * Reads the pools of `--config`, or creates one pool of image files. Throws all faults of these pools, because the
 * gateway would name the file that is made from them.
 */
async function poolsOf(
  { dir, config, capacity, topology }: DevConfig,
  findFaults: DevOptions['findFaults'],
): Promise<PoolSettings> {
  if (config !== undefined) {
    const { pools = {}, ...rest } = await readMembers(config);
    const others = Object.keys(rest).join('", "');
    const found = await findFaults(config, dir);
    // Other members have to be removed, so the faults of these members and their files do not matter.
    const isOfPools = (fault: string): boolean => /^(:\d+)?: pools\b/.test(fault.replace(config, ''));
    const faults =
      others === ''
        ? found
        : [
            `${config}: remove "${others}": fairlead dev takes only pools from this file`,
            ...found.filter(isOfPools),
          ];
    if (faults.length > 0) throw new AggregateError(faults);
    return pools as PoolSettings;
  }
  const images = join(dir, 'images');
  await createDirectories(images);
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
  let members: unknown;
  try {
    members = parse(text, { logLevel: 'error' });
  } catch (error) {
    throw new Error(`${path}${describeYamlError(Object(error))}`, { cause: error });
  }
  if (members?.constructor === Object) return members as Readonly<Record<string, unknown>>;
  throw new Error(`${path}: the file is not a YAML mapping with pools`);
}

/** Lists the directories of pools on this machine, in the form of the node agent's setting. */
export function rootsOf(pools: PoolSettings): string {
  const roots = Object.entries(pools).map(([name, pool]) => [name, pool?.['dir']] as const);
  return roots.map(([name, root]) => (typeof root === 'string' ? `${name}=${root}\n` : '')).join('');
}

/** Writes `gateway.yaml` with the pools, a cluster and operators, and creates missing private keys (mode 0600). */
export async function enroll(dir: string, pools: PoolSettings) {
  await createDirectories(dir);
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
    JSON.stringify({ keys: [publicHalf((await readJwk(path)) ?? (await createJwk(path)))] }),
  );
  return path;
}

async function readJwk(path: string): Promise<PrivateJwk | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as PrivateJwk;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(
      `key file "${path}" cannot be read or is not JSON: repair it, or remove it to get a new key`,
      {
        cause: error,
      },
    );
  }
}

async function createJwk(path: string): Promise<PrivateJwk> {
  const jwk = await createKey(crypto.randomUUID());
  await replaceFile(path, JSON.stringify(jwk));
  return jwk;
}

/** Replaces a file atomically: a truncated one would have to be removed by hand. */
async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  await writeFile(temporary, text, { mode: 0o600, flush: true });
  await rename(temporary, path);
}

/** Writes the gateway's public keys to a file. The node verifies attachments with them. */
export async function fetchKeys(gateway: string, path: string): Promise<string> {
  const source = { from: 'the gateway' };
  const address = `${gateway}/.well-known/jwks.json`;
  const { text } = await fetchBody(address, { timeoutMs: answerTimeoutMs }, source).catch(
    (error: unknown) => {
      throw new Error(`cannot read the keys of the gateway from "${address}": ${reasonOf(error)}`, {
        cause: error,
      });
    },
  );
  await replaceFile(path, text);
  return path;
}

/** Registers nodes at the gateway as the development cluster; `keyFile` holds that cluster's key. */
export async function registerNodes(
  gateway: string,
  keyFile: string,
  { nodeIds, topology }: { readonly nodeIds: readonly string[]; readonly topology?: Segments | undefined },
): Promise<void> {
  const token = createTokenSource({ keyFile, issuer: devCluster, audience: 'fairlead', lifetimeMs: 60_000 });
  const client = createClient({ url: gateway, token });
  try {
    for (const nodeId of nodeIds)
      await client.putNode({ nodeId, body: { topology } }, { deadlineMs: Date.now() + answerTimeoutMs });
  } finally {
    await client.close();
  }
}

async function requireVacant(socketPath: string): Promise<void> {
  const isVacant = async (): Promise<true | undefined> => !(await isSocketAnswered(socketPath)) || undefined;
  if (!(await poll(isVacant, { everyMs: 50, timeoutMs: vacateTimeoutMs })))
    throw new Error(
      `socket "${socketPath}" is in use by another fairlead dev: end it, or choose another --dir`,
    );
}
