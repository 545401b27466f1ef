import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  rmdirSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { toPublishContext } from '../../../src/api/attachment.ts';
import type { CsiClient } from '../../../src/csi/client.ts';
import { startWriting, type PodProcess } from '../../fakes/kubelet/pod-process.ts';
import type { TestNode } from '../../harness/node/program.ts';
import { loopDevicesOf, mountsBelow } from '../../harness/machine.ts';

const MiB = 2 ** 20;

/** The kinds of volumes with their size in bytes: a filesystem's type, a block volume, or a directory that is bound. */
export const sizes = { ext4: 32 * MiB, xfs: 300 * MiB, btrfs: 256 * MiB, block: 32 * MiB, directory: MiB };
export type VolumeKind = keyof typeof sizes;

/** A volume during the calls of a node, with its paths and its data. */
export type Life = ReturnType<typeof openLife>;

/** A step in a volume's life. */
export type Call = (client: CsiClient, life: Life) => Promise<unknown>;

/** Makes a volume that no call has used yet. */
export function openLife(node: TestNode, name: string, what: VolumeKind) {
  const sizeBytes = sizes[what];
  const [pod, directory] = [join(node.root, 'pods', name), join(node.dir, 'directories', name)];
  for (const path of [pod, directory]) mkdirSync(path, { recursive: true });
  const { handle, publishContext } = node.makeVolume(name, { sizeBytes });
  const common = { attachmentId: name, sizeBytes, readonly: false, mayFormat: false };
  const bound = () => toPublishContext({ protocol: 'bind', path: directory, ...common });
  const target = join(pod, 'mount');
  const access_mode = { mode: 'SINGLE_NODE_MULTI_WRITER' } as const;
  const mount = { fs_type: what === 'directory' ? '' : what };
  return {
    node,
    what,
    image: publishContext['path'] ?? '',
    content: randomBytes(64 * 1024),
    /** The path that `write` writes to; on a block volume its offset is behind the pod's data. */
    data: what === 'block' ? target : join(target, 'data'),
    offset: what === 'block' ? 16 * MiB : 0,
    second: join(pod, 'second'),
    request: {
      volume_id: handle,
      staging_target_path: join(pod, 'globalmount'),
      target_path: target,
      volume_path: target,
      volume_capability: what === 'block' ? { block: {}, access_mode } : { mount, access_mode },
      publish_context: what === 'directory' ? bound() : publishContext,
    },
  };
}

export const stage: Call = ({ node }, { request }) => node.NodeStageVolume(request);
export const publish: Call = ({ node }, { request }) => node.NodePublishVolume(request);
export const unpublish: Call = ({ node }, { request }) => node.NodeUnpublishVolume(request);
export const publishSecond: Call = ({ node }, { request, second }) =>
  node.NodePublishVolume({ ...request, target_path: second });
export const unpublishSecond: Call = ({ node }, { request, second }) =>
  node.NodeUnpublishVolume({ ...request, target_path: second });

/** Kubelet removes the directory after the call, which would fail if anything were still mounted there. */
export const unstage: Call = async ({ node }, { request }) => {
  await node.NodeUnstageVolume(request);
  if (existsSync(request.staging_target_path)) rmdirSync(request.staging_target_path);
};

export const expand: Call = async ({ node }, { request, image, what }) => {
  const required = 2 * sizes[what];
  truncateSync(image, required);
  const capacity_range = { required_bytes: required };
  const { capacity_bytes } = await node.NodeExpandVolume({ ...request, capacity_range });
  assert.ok(Number(capacity_bytes) >= required);
};

/** Writes through the published path, durable on return, as a database would. */
export const write: Call = async (_, { what, data, offset, content }) => {
  const file = openSync(data, what === 'block' ? 'r+' : 'w');
  writeSync(file, content, 0, content.length, offset);
  fsyncSync(file);
  closeSync(file);
};

export const check: Call = async (_, { data, offset, content }) => {
  const found = Buffer.alloc(content.length);
  const file = openSync(data, 'r');
  readSync(file, found, 0, found.length, offset);
  closeSync(file);
  assert.ok(found.equals(content), 'the volume lost written data');
};

/** Starts a pod's process that writes to the published volume. */
export function startPod({ what, request: { target_path: target } }: Life): Promise<PodProcess> {
  if (what === 'block') return startWriting(target);
  writeFileSync(join(target, 'file'), '');
  return startWriting(join(target, 'file'));
}

export function isStaged(life: Life): void {
  hasMounts(life, life.what === 'block' ? [] : [life.request.staging_target_path]);
}

export function isPublished(life: Life): void {
  const { staging_target_path: staging, target_path: target } = life.request;
  hasMounts(life, life.what === 'block' ? [target] : [staging, target]);
}

function hasMounts({ node, what }: Life, paths: readonly string[]): void {
  assert.deepEqual([...mountsBelow(node.dir)].sort(), paths);
  assert.equal(loopDevicesOf(node.dir).length, what === 'directory' ? 0 : 1);
}
