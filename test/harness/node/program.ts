import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { toPublishContext } from '../../../src/api/attachment.ts';
import { startKubelet, type Kubelet, type KubeletOptions } from '../../fakes/kubelet/kubelet.ts';
import type { VolumeSpec } from '../../fakes/kubelet/paths.ts';
import { startProgram, type Flags, type ProcessOptions, type ProgramProcess } from '../program.ts';
import {
  inOwnMounts,
  bindToItself,
  loopDevicesOf,
  makeTemporaryDirectory,
  mountsBelow,
  removeTemporaryDirectory,
} from '../machine.ts';

/** The driver's name if no setting names another. */
export const driverName = 'csi.fairlead.dev';

/** A node with a directory of its own, which is cleaned up after the test even if an agent crashed. */
export interface TestNode {
  readonly dir: string;
  /** Kubelet's directory on the node. */
  readonly root: string;
  readonly socket: string;
  readonly state: string;
  /** The command that starts the node's agents in their mount namespace; empty on the host. */
  readonly by: readonly string[];
  /** Starts an agent; by default the command line's, in the node's own mount namespace. */
  startAgent(settings?: Flags, options?: ProcessOptions): ProgramProcess;
  /** Starts a kubelet, which stops after the test. */
  startKubelet(options?: Pick<KubeletOptions, 'refuse'>): Kubelet;
  /** Makes the image file of a volume and returns the volume as the gateway's attachment would describe it. */
  makeVolume(name: string, options?: VolumeOptions): VolumeSpec;
}

/** The mode and size of a volume; by default a filesystem of 64 MiB. */
type VolumeOptions = { readonly mode?: VolumeSpec['mode']; readonly sizeBytes?: number };

const MiB = 1024 * 1024;

/**
 * The places where a node's agents run: as processes of the host, or each in a mount namespace that ends with it, as in
 * a pod.
 */
export const homes = ['host', 'pod'] as const;
type Home = (typeof homes)[number];

/** Makes the directories of a node; its agents are processes that a test starts. */
export function prepareNode(t: Pick<TestContext, 'after'>, home: Home = 'host'): TestNode {
  const dir = makeTemporaryDirectory();
  const root = join(dir, 'kubelet');
  const plugin = join(root, 'plugins', driverName);
  const state = join(dir, 'state');
  for (const path of [join(root, 'pods'), join(root, 'plugins_registry'), plugin, join(dir, 'images')])
    mkdirSync(path, { recursive: true });
  if (home === 'pod') {
    bindToItself(dir, 'private');
    bindToItself(root, 'shared');
  }
  const nodeBy = home === 'pod' ? inOwnMounts(dir) : [];
  const started: { end(): Promise<void> }[] = [];
  t.after(async () => {
    for (const one of started.toReversed()) await one.end();
    removeTemporaryDirectory(dir);
  });
  const socket = join(plugin, 'csi.sock');
  return {
    dir,
    root,
    socket,
    state,
    by: nodeBy,
    startAgent(settings = {}, options = {}) {
      const all = {
        endpoint: socket,
        'node-id': 'n1',
        'state-dir': state,
        'kubelet-dir': root,
        'local-roots': ['images', 'directories', 'dev/images'].map(name => join(dir, name)).join(),
        'registration-dir': join(root, 'plugins_registry'),
        'shutdown-grace': '0s',
        ...settings,
      };
      const agent = startProgram('node', all, { by: nodeBy, ...options });
      started.push({ end: () => agent.end('SIGKILL') });
      return agent;
    },
    startKubelet(options = {}) {
      const kubelet = startKubelet({ root, ...options });
      started.push({ end: async () => kubelet.stop() });
      return kubelet;
    },
    makeVolume: (name, options) => makeVolume(join(dir, 'images', name), options),
  };
}

/** Runs a node: the agent's program in a process of its own, registered with a kubelet. */
export async function runNode(
  t: Pick<TestContext, 'after'>,
  settings: Flags = {},
  { node = prepareNode(t), by = node.by }: { readonly node?: TestNode; readonly by?: readonly string[] } = {},
) {
  const agent = node.startAgent(settings, { by });
  const kubelet = node.startKubelet();
  await kubelet.plugins.registered(driverName);
  return {
    node,
    agent,
    kubelet,
    /** Removes all pods and waits until their volumes are gone from the node. */
    async drain(): Promise<void> {
      await kubelet.drain();
      assertNothingLeft(node);
    },
  };
}

function makeVolume(
  path: string,
  { mode = 'Filesystem', sizeBytes = 64 * MiB }: VolumeOptions = {},
): VolumeSpec {
  const name = path.slice(path.lastIndexOf('/') + 1);
  // The file may be mounted already, so it is never overwritten.
  writeFileSync(path, '', { flag: 'wx' });
  truncateSync(path, sizeBytes);
  const publishContext = toPublishContext({
    protocol: 'loop',
    path,
    attachmentId: `attachment-${name}`,
    sizeBytes,
    readonly: false,
    mayFormat: true,
  });
  return { name, handle: `c.${name}`, driver: driverName, mode, publishContext };
}

/** Fails if a volume has left a mount, loop device, record or file of kubelet's behind. */
export function assertNothingLeft({ dir, root, state }: TestNode): void {
  assert.deepEqual(mountsBelow(dir), []);
  assert.deepEqual(loopDevicesOf(dir), []);
  assert.deepEqual(readdirSync(join(state, 'volumes')), []);
  const csi = join(root, 'plugins/kubernetes.io/csi');
  assert.deepEqual(filesBelow(csi), []);
  assert.deepEqual(filesBelow(join(root, 'pods')), []);
}

function filesBelow(dir: string): readonly string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter(entry => !entry.isDirectory() || ['mount', 'globalmount'].includes(entry.name))
    .map(entry => join(entry.parentPath, entry.name));
}
