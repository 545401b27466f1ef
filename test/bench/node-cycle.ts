import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { connectCsi, type CsiClient } from '../../src/csi/client.ts';
import type { VolumeCapability } from '../../src/csi/generated/csi/v1/VolumeCapability.ts';
import type { Dev } from '../harness/dev.ts';
import { timed } from './figure.ts';

/** The four RPCs of a cycle, in their order. */
export const cycleRpcs = [
  'NodeStageVolume',
  'NodePublishVolume',
  'NodeUnpublishVolume',
  'NodeUnstageVolume',
] as const;

/** How long each RPC of one cycle took, in milliseconds. */
export type CycleTimes = Readonly<Record<(typeof cycleRpcs)[number], number>>;

/** A volume that is attached to this node and ready for cycles. */
export interface CycleVolume {
  readonly node: CsiClient['node'];
  readonly request: {
    readonly volume_id: string;
    readonly volume_capability: VolumeCapability;
    readonly publish_context: Record<string, string>;
    readonly staging_target_path: string;
  };
  readonly target: string;
  /** Detaches and deletes it. */
  remove(): Promise<void>;
}

/** Where a volume's paths lie, its name and its filesystem. */
export type CycleOptions = { readonly dir: string; readonly name: string; readonly fs: string };

/** Creates and attaches a volume of 512 MiB. */
export async function createVolume(dev: Dev, { dir, name, fs }: CycleOptions): Promise<CycleVolume> {
  const controller = connectCsi(dev.controller);
  const node = connectCsi(dev.node);
  const capability: VolumeCapability = {
    mount: { fs_type: fs },
    access_mode: { mode: 'SINGLE_NODE_WRITER' },
  };
  const created = await controller.controller.CreateVolume({
    name,
    capacity_range: { required_bytes: 512 * 2 ** 20 },
    volume_capabilities: [capability],
  });
  const attached = { volume_id: created.volume?.volume_id ?? '', node_id: dev.nodeId };
  const { publish_context } = await controller.controller.ControllerPublishVolume({
    ...attached,
    volume_capability: capability,
  });
  const staging = join(dir, `${name}-staging`);
  mkdirSync(staging);
  return {
    node: node.node,
    request: {
      volume_id: attached.volume_id,
      volume_capability: capability,
      publish_context,
      staging_target_path: staging,
    },
    target: join(dir, `${name}-target`),
    async remove() {
      await controller.controller.ControllerUnpublishVolume(attached);
      await controller.controller.DeleteVolume({ volume_id: attached.volume_id });
      controller.close();
      node.close();
    },
  };
}

/** Formats the volume by staging it once. */
export async function prepareVolume({ node, request }: CycleVolume): Promise<void> {
  await node.NodeStageVolume(request);
  await node.NodeUnstageVolume(request);
}

/** One whole cycle; leaves the volume attached. */
export async function runCycle({ node, request, target }: CycleVolume): Promise<CycleTimes> {
  const named = {
    volume_id: request.volume_id,
    target_path: target,
    staging_target_path: request.staging_target_path,
  };
  return {
    NodeStageVolume: await timed(() => node.NodeStageVolume(request)),
    NodePublishVolume: await timed(() => node.NodePublishVolume({ ...request, target_path: target })),
    NodeUnpublishVolume: await timed(() => node.NodeUnpublishVolume(named)),
    NodeUnstageVolume: await timed(() => node.NodeUnstageVolume(named)),
  };
}
