import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { startChild, type Child } from '../../src/dev/children.ts';
import { devCluster, enroll } from '../../src/dev/enrollment.ts';
import { advertisedFor, registerNode } from './register.ts';

/** One gateway with the dir backend, one controller, and several node agents, each a process of its own. */
export type SharedStorage = {
  /** Where the volumes lie. */
  readonly root: string;
  /** The controller's socket. */
  readonly controller: string;
  readonly nodes: readonly SharedNode[];
};

/** A node: its name, its socket, and the directory below which its volumes are staged and published. */
export type SharedNode = { readonly nodeId: string; readonly node: string; readonly directory: string };

/** Where everything is kept, what the nodes are called, and where the volumes lie for whom. */
export type SharedOptions = {
  readonly dir: string;
  readonly nodeIds: readonly string[];
  /** A directory that is there and exported over NFS; absent: nodes bind directories of this machine. */
  readonly exported?: { readonly root: string; readonly server: string; readonly path: string };
};

/** Starts all of them below a directory, whose volumes nodes bind; they end with the test. */
export function startShared(t: TestContext, dir: string, nodeIds: readonly string[]): Promise<SharedStorage> {
  return startSharing(t, { dir, nodeIds });
}

/** Starts all of them; they end with the test. */
export async function startSharing(
  t: TestContext,
  { dir, nodeIds, exported }: SharedOptions,
): Promise<SharedStorage> {
  const children: Child[] = [];
  t.after(() => Promise.all(children.map(child => child.close())));
  const start = (program: string, settings: Readonly<Record<string, string>>): Child['ready'] => {
    const child = startChild(program, { ...settings, 'log-level': 'warn' });
    children.push(child);
    return child.ready;
  };
  const root = exported?.root ?? join(dir, 'volumes');
  mkdirSync(root, { recursive: true });
  const nfs = exported && { nfs: { server: exported.server, path: exported.path } };
  const { keyFile, configFile } = await enroll(dir, {
    shared: { backend: 'dir', dir: root, capacity: '1Ti', ...nfs },
  });
  const { gateway = '' } = await start('gateway', {
    listen: '127.0.0.1:0',
    store: join(dir, 'store.sqlite'),
    config: configFile,
  });
  const controller = join(dir, 'controller.sock');
  const plugin = { 'plugin-capabilities': await advertisedFor({ gateway, keyFile }) };
  const cluster = { cluster: devCluster, 'key-file': keyFile };
  await start('controller', { ...plugin, ...cluster, endpoint: controller, gateway });
  const nodes = nodeIds.map(nodeId => {
    const directory = join(dir, nodeId);
    mkdirSync(directory);
    return { nodeId, node: join(dir, `${nodeId}.sock`), directory };
  });
  for (const { nodeId, node: endpoint, directory } of nodes)
    await start('node', {
      ...plugin,
      endpoint,
      'node-id': nodeId,
      'state-dir': join(dir, `${nodeId}-state`),
      'kubelet-dir': directory,
    });
  for (const nodeId of nodeIds) await registerNode({ gateway, keyFile }, nodeId);
  return { root, controller, nodes };
}
