import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CsiClient } from '../../src/csi/client.ts';
import type { VolumeCapability } from '../../src/csi/generated/csi/v1/VolumeCapability.ts';
import { untilAvailable } from '../harness/csi-serving.ts';
import { timed } from './figure.ts';
import type { DevSetting } from './setting.ts';

/** The capability of every volume here. */
const ext4: VolumeCapability = {
  mount: { fs_type: 'ext4' },
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
};

/** The four RPCs of a cycle, in order. */
export const cycleRpcs = [
  'NodeStageVolume',
  'NodePublishVolume',
  'NodeUnpublishVolume',
  'NodeUnstageVolume',
] as const;

/** The time of each RPC of one cycle, in milliseconds. */
export type CycleTimes = Readonly<Record<(typeof cycleRpcs)[number], number>>;

/** A volume that is attached to this node and ready for cycles. */
export interface CycleVolume {
  /** Makes one RPC of the cycle and returns its time in milliseconds. */
  call(rpc: keyof CycleTimes): Promise<number>;
  /** Asks the agent for the volume's statistics. */
  measure(): Promise<unknown>;
  /** Runs one cycle and leaves the volume attached. */
  runCycle(): Promise<CycleTimes>;
  /** Detaches and deletes the volume. */
  remove(): Promise<void>;
}

/** A range of volumes' indexes, and the number that are processed at a time. */
export type Range = { readonly from: number; readonly to: number; readonly concurrency: number };

/** Runs `work` for each index. */
export async function forEach(
  { from, to, concurrency }: Range,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = from;
  const worker = async (): Promise<void> => {
    while (next < to) await work(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

/** Creates a volume for ext4 and returns its id. */
export async function createVolume(
  { controller }: CsiClient,
  name: string,
  { sizeBytes, source }: { readonly sizeBytes: number; readonly source?: string },
): Promise<string> {
  const { volume } = await controller.CreateVolume({
    name,
    capacity_range: { required_bytes: sizeBytes },
    volume_capabilities: [ext4],
    ...(source !== undefined && { volume_content_source: { volume: { volume_id: source } } }),
  });
  return volume?.volume_id ?? '';
}

/** Creates a volume of 1 GiB and deletes it. */
export async function createAndDelete(client: CsiClient, name: string): Promise<void> {
  const volume_id = await createVolume(client, name, { sizeBytes: 2 ** 30 });
  await client.controller.DeleteVolume({ volume_id });
}

/** Creates and attaches a volume of 512 MiB. */
export async function openCycleVolume(
  { dir, dev, csi: { controller, node } }: DevSetting,
  name: string,
): Promise<CycleVolume> {
  const volume_id = await createVolume(controller, name, { sizeBytes: 512 * 2 ** 20 });
  const attached = { volume_id, node_id: dev.nodeId };
  const { publish_context } = await controller.controller.ControllerPublishVolume({
    ...attached,
    volume_capability: ext4,
  });
  const paths = {
    staging_target_path: join(dir, `${name}-staging`),
    target_path: join(dir, `${name}-target`),
  };
  mkdirSync(paths.staging_target_path);
  const request = { volume_id, ...paths, volume_capability: ext4, publish_context };
  const call = (rpc: keyof CycleTimes) => timed(() => untilAvailable(() => node.node[rpc](request)));
  return {
    call,
    measure: () => node.node.NodeGetVolumeStats({ volume_id, volume_path: paths.target_path }),
    async runCycle() {
      const times: Partial<Record<keyof CycleTimes, number>> = {};
      for (const rpc of cycleRpcs) times[rpc] = await call(rpc);
      return times as CycleTimes;
    },
    async remove() {
      await controller.controller.ControllerUnpublishVolume(attached);
      await controller.controller.DeleteVolume({ volume_id });
    },
  };
}
