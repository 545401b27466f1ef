import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '../api/client.ts';
import { parse } from 'yaml';
import { createTokenSource } from '../controller/tokens.ts';
import { formatAdvertised } from '../csi/identity.ts';
import { isSocketAnswered } from '../lib/unix-socket.ts';
import { poll } from '../lib/concurrency.ts';
import { makeDirectories } from '../lib/directories.ts';
import type { Running } from '../lib/lifecycle.ts';
import { startChild, type Child } from './children.ts';
import type { DevConfig } from './config.ts';
import { devCluster, enroll, type Enrolment, type PoolSettings } from './enrolment.ts';

/** How long the processes of an instance that was killed may take to be gone, in milliseconds. */
const vacateTimeoutMs = 3_000;
const registerTimeoutMs = 10_000;

/**
 * Starts gateway, controller and node agent on this machine, each in a process of its own, and registers the node. All
 * that must outlive a restart is below `dir`. When one of them ends by itself, `fail` is called and the rest is useless.
 */
export async function startDev(config: DevConfig, fail: (how: string) => void): Promise<Running> {
  const { dir } = config;
  const sockets = { controller: join(dir, 'controller.sock'), node: join(dir, 'node.sock') };
  await Promise.all(Object.values(sockets).map(waitUntilVacant));
  const enrolment = await enroll(dir, await poolsOf(config));
  const children: Child[] = [];
  let closing = false;
  const closeAll = async (): Promise<void> => {
    closing = true;
    await Promise.all(children.map(child => child.close()));
  };
  const start = (program: string, settings: Readonly<Record<string, string | undefined>>): Child['ready'] => {
    const child = startChild(program, { ...settings, 'log-level': config['log-level'] });
    children.push(child);
    return child.ready;
  };
  try {
    const { gateway } = await start('gateway', {
      config: enrolment.configFile,
      store: join(dir, 'store.sqlite'),
      listen: config.listen,
    });
    if (!gateway) throw new Error('the gateway did not say where it listens');
    const [controller, node] = await Promise.all([
      start('controller', {
        endpoint: sockets.controller,
        gateway,
        cluster: devCluster,
        'key-file': enrolment.keyFile,
        'plugin-capabilities': formatAdvertised(config['plugin-capabilities']),
      }),
      start('node', nodeSettings(config, sockets.node)),
    ]);
    await registerNode(gateway, config, enrolment);
    for (const child of children) void child.ended.then(how => closing || fail(how));
    return { ready: { gateway, ...controller, ...node }, close: closeAll };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** The pools of the file that was given, or one of image files. What is wrong with them, the gateway reports. */
async function poolsOf({ dir, config, capacity, topology }: DevConfig): Promise<PoolSettings> {
  if (config !== undefined) {
    const { pools } = Object(parse(await readFile(config, 'utf8'))) as { readonly pools?: PoolSettings };
    return pools ?? {};
  }
  const images = join(dir, 'images');
  await makeDirectories(images);
  const place = topology && { topology: topology.segments };
  return { images: { backend: 'image', dir: images, ...(capacity !== undefined && { capacity }), ...place } };
}

function nodeSettings(config: DevConfig, socket: string): Record<string, string | undefined> {
  return {
    endpoint: socket,
    'node-id': config['node-id'],
    'state-dir': join(config.dir, 'node'),
    'kubelet-dir': config['kubelet-dir'],
    'shutdown-grace': '0s',
    'default-fs': config['default-fs'],
    'plugin-capabilities': formatAdvertised(config['plugin-capabilities']),
    topology: config.topology?.text,
  };
}

async function registerNode(gateway: string, config: DevConfig, { keyFile }: Enrolment): Promise<void> {
  const { 'node-id': nodeId, topology } = config;
  const token = createTokenSource({ keyFile, issuer: devCluster, audience: 'fairlead', lifetimeMs: 60_000 });
  const client = createClient({ url: gateway, token });
  try {
    await client.putNode(
      { nodeId, body: topology ? { topology: topology.segments } : {} },
      {
        deadlineMs: Date.now() + registerTimeoutMs,
      },
    );
  } finally {
    await client.close();
  }
}

async function waitUntilVacant(socketPath: string): Promise<void> {
  const isVacant = async (): Promise<true | undefined> => !(await isSocketAnswered(socketPath)) || undefined;
  if (!(await poll(isVacant, { everyMs: 50, timeoutMs: vacateTimeoutMs })))
    throw new Error(`socket "${socketPath}" is in use by a live instance`);
}
