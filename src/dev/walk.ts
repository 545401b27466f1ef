import { mkdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CsiClient } from '../csi/client.ts';
import type { VolumeCapability } from '../csi/generated/csi/v1/VolumeCapability.ts';
import type { Steps } from './steps.ts';

/** Where a walk happens: the two CSI sockets, the node's id, and the directory that stands for kubelet's. */
export type Place = {
  readonly controller: CsiClient;
  readonly node: CsiClient;
  readonly nodeId: string;
  readonly dir: string;
};

/** What is walked: a volume with a filesystem or a raw one, and how its content is written and read (both tell its hash). */
export type WalkOptions = {
  readonly steps: Steps;
  readonly name: string;
  readonly kind: { readonly fs: string } | 'block';
  readonly write: (target: string) => Promise<string>;
  readonly read: (target: string) => Promise<string>;
};

const sizeBytes = 512 * 1024 * 1024;

/**
 * One volume's life: create, attach, stage, publish, write, and all the way back; then attached again to prove that the
 * content is still there; then deleted. Returns the content's hash; a content that differs is an error.
 */
export async function walk(place: Place, { steps, name, kind, write, read }: WalkOptions): Promise<string> {
  const { controller } = place.controller;
  const capability = toCapability(kind);
  const undo: Undo = [];
  try {
    const volumeId = await steps.step('CreateVolume', async () => {
      const request = {
        name,
        capacity_range: { required_bytes: sizeBytes },
        volume_capabilities: [capability],
      };
      const { volume } = await controller.CreateVolume(request);
      return volume?.volume_id ?? '';
    });
    undo.push({ title: 'DeleteVolume', work: () => controller.DeleteVolume({ volume_id: volumeId }) });
    const use: Use = { place, steps, undo, volumeId, capability };
    const written = await inUse(use, target => steps.step('write and fsync 8 MiB', () => write(target)));
    const found = await inUse(use, target =>
      steps.step('read it back after attaching again', () => read(target)),
    );
    await undoOne(use);
    if (found !== written)
      throw new Error(`volume "${volumeId}" holds sha256 ${found}, but ${written} was written`);
    return written;
  } catch (error) {
    for (const { work } of undo.toReversed()) await work().catch(() => {});
    throw error;
  }
}

/** What takes back each step that was done, last first. */
type Undo = { readonly title: string; readonly work: () => Promise<unknown> }[];

type Use = {
  readonly place: Place;
  readonly steps: Steps;
  readonly undo: Undo;
  readonly volumeId: string;
  readonly capability: VolumeCapability;
};

/** Attaches, stages and publishes, lets `work` use the target, and takes all of it back. */
async function inUse<T>(use: Use, work: (target: string) => Promise<T>): Promise<T> {
  const { steps, undo, volumeId, capability, place } = use;
  const { controller } = place.controller;
  const { node } = place.node;
  const staging = join(place.dir, 'plugins', volumeId, 'globalmount');
  const target = join(place.dir, 'pods', volumeId, 'mount');
  await Promise.all([mkdir(staging, { recursive: true }), mkdir(dirname(target), { recursive: true })]);
  const attached = { volume_id: volumeId, node_id: place.nodeId };
  const named = { volume_id: volumeId, volume_capability: capability };
  undo.push({
    title: 'ControllerUnpublishVolume',
    work: () => controller.ControllerUnpublishVolume(attached),
  });
  const { publish_context } = await steps.step('ControllerPublishVolume', () =>
    controller.ControllerPublishVolume({ ...attached, ...named }),
  );
  const staged = { ...named, publish_context, staging_target_path: staging };
  undo.push({
    title: 'NodeUnstageVolume',
    work: () => node.NodeUnstageVolume({ volume_id: volumeId, staging_target_path: staging }),
  });
  await steps.step('NodeStageVolume', () => node.NodeStageVolume(staged));
  undo.push({
    title: 'NodeUnpublishVolume',
    work: () => node.NodeUnpublishVolume({ volume_id: volumeId, target_path: target }),
  });
  await steps.step('NodePublishVolume', () => node.NodePublishVolume({ ...staged, target_path: target }));
  const result = await work(target);
  for (let left = 3; left > 0; left--) await undoOne(use);
  await rmdir(staging);
  return result;
}

async function undoOne({ steps, undo }: Use): Promise<void> {
  const last = undo.at(-1);
  if (!last) return;
  await steps.step(last.title, last.work);
  undo.pop();
}

function toCapability(kind: WalkOptions['kind']): VolumeCapability {
  const access_mode = { mode: 'SINGLE_NODE_WRITER' } as const;
  return kind === 'block' ? { block: {}, access_mode } : { mount: { fs_type: kind.fs }, access_mode };
}
