import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Segments } from '../../src/api/topology.ts';
import { connectCsi } from '../../src/csi/client.ts';
import { advertisable } from '../../src/csi/plugin-capabilities.ts';
import { startChild, type Child } from '../../src/dev/children.ts';
import { devCluster, enroll } from '../../src/dev/enrollment.ts';
import { registerNode } from './register.ts';

/** A gateway over images, a controller, and the one node that is where the images are, each a process of its own. */
export type Placed = {
  readonly controller: string;
  readonly node: string;
  /** By which the gateway knows the node. */
  readonly nodeId: string;
  /** Below it volumes are staged and published. */
  readonly work: string;
  /** Where the node says that it is. */
  readonly topology: Segments;
};

/** Starts all of them, advertising all that there is; they end with the test. */
export async function startPlaced(t: TestContext, dir: string): Promise<Placed> {
  const children: Child[] = [];
  t.after(() => Promise.all(children.map(child => child.close())));
  const start = (program: string, settings: Readonly<Record<string, string>>): Child['ready'] => {
    const child = startChild(program, { ...settings, 'log-level': 'warn' });
    children.push(child);
    return child.ready;
  };
  const [work, images] = [join(dir, 'work'), join(dir, 'images')];
  for (const path of [work, images]) mkdirSync(path);
  const plugin = { 'plugin-capabilities': advertisable.join(',') };
  const { node = '', nodeId = '' } = await start('node', {
    ...plugin,
    endpoint: join(dir, 'node.sock'),
    'node-id': 'placed-node',
    topology: 'zone=a',
    'state-dir': join(dir, 'node'),
    'kubelet-dir': work,
  });
  const topology = await topologyOf(node);
  const { keyFile, configFile } = await enroll(dir, {
    placed: { backend: 'image', dir: images, capacity: '1Ti', topology },
  });
  const { gateway = '' } = await start('gateway', {
    listen: '127.0.0.1:0',
    store: join(dir, 'store.sqlite'),
    config: configFile,
  });
  const endpoint = join(dir, 'controller.sock');
  const cluster = { cluster: devCluster, 'key-file': keyFile };
  const { controller = '' } = await start('controller', { ...plugin, ...cluster, endpoint, gateway });
  await registerNode({ gateway, keyFile }, nodeId, { topology: { ...topology } });
  return { controller, node, nodeId, work, topology };
}

async function topologyOf(node: string): Promise<Segments> {
  const csi = connectCsi(node);
  try {
    return { ...(await csi.node.NodeGetInfo({})).accessible_topology?.segments };
  } finally {
    csi.close();
  }
}
