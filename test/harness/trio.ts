import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Segments } from '../../src/api/topology.ts';
import { startChild, type Child } from '../../src/dev/children.ts';
import { devCluster, enroll, fetchKeys, registerNodes, rootsOf } from '../../src/dev/dev.ts';

/** One gateway with one pool, one controller, and the agents of several nodes, each a process of its own. */
export type Trio = {
  /** The controller's endpoint. */
  readonly controller: string;
  readonly nodes: readonly TrioNode[];
};

/** A node: its id, its endpoint, and the directory below which its volumes are staged and published. */
export type TrioNode = { readonly nodeId: string; readonly endpoint: string; readonly directory: string };

/** Where everything is kept, what the pool is, and what the nodes and plugins say of themselves. */
export type TrioOptions = {
  readonly dir: string;
  readonly pool?: Readonly<Record<string, unknown>>;
  /** Starts a storage instead of the gateway, which knows the controller by these public keys; its address. */
  readonly storage?: (keysFile: string) => Promise<string>;
  readonly nodeNames: readonly string[];
  /** Where the pool's files are on the nodes, when it is not the pool that says so. */
  readonly localRoot?: string;
  /** Where all nodes are; absent: nowhere in particular. */
  readonly topology?: Segments;
  /** The plugin capabilities that depend on the pool. */
  readonly advertised?: readonly string[];
};

/** Starts all of them and makes the nodes known; they end with the test. */
export async function startTrio(t: TestContext, options: TrioOptions): Promise<Trio> {
  const { dir, pool = {}, storage, nodeNames, localRoot = '', topology = {}, advertised = [] } = options;
  const children: Child[] = [];
  t.after(() => Promise.all(children.map(child => child.close())));
  const start = (program: string, settings: Readonly<Record<string, string>>): Child['ready'] => {
    const child = startChild(program, { ...settings, 'log-level': 'warn' });
    children.push(child);
    return child.ready;
  };
  const { keyFile, configFile } = await enroll(dir, { pool });
  const store = join(dir, 'store.sqlite');
  const gateway = storage
    ? await storage(join(dir, 'dev.jwks.json'))
    : (await start('gateway', { listen: '127.0.0.1:0', store, config: configFile }))['gateway'];
  assert.ok(gateway);
  const plugin = { 'plugin-capabilities': advertised.join() || 'none' };
  const controller = join(dir, 'controller.sock');
  const cluster = { cluster: devCluster, 'key-file': keyFile };
  const given = storage && { 'allow-http': 'true' };
  await start('controller', { ...plugin, ...cluster, ...given, endpoint: controller, gateway });
  const places = Object.entries(topology).map(([key, value]) => `${key.replace(/^.*\//, '')}=${value}`);
  const keys = storage
    ? {}
    : { 'gateway-keys-file': await fetchKeys(gateway, join(dir, 'gateway.jwks.json')) };
  const nodes: TrioNode[] = [];
  for (const name of nodeNames) {
    mkdirSync(join(dir, name));
    const { nodeId = '' } = await start('node', {
      ...keys,
      ...plugin,
      ...(places.length > 0 && { topology: places.join() }),
      endpoint: join(dir, `${name}.sock`),
      'node-id': name,
      'state-dir': join(dir, `${name}-state`),
      'kubelet-dir': join(dir, name),
      'local-roots': rootsOf({ pool }) || localRoot,
    });
    nodes.push({ nodeId, endpoint: `unix://${join(dir, `${name}.sock`)}`, directory: join(dir, name) });
  }
  const nodeIds = nodes.map(({ nodeId }) => nodeId);
  if (!storage) await registerNodes(gateway, keyFile, { nodeIds, topology });
  return { controller: `unix://${controller}`, nodes };
}
