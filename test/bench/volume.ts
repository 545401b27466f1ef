import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CsiClient } from '../../src/csi/client.ts';
import type { VolumeCapability } from '../../src/csi/generated/csi/v1/VolumeCapability.ts';
import { untilAvailable } from '../harness/csi-serving.ts';
import type { openDev } from '../harness/dev.ts';

/** `fairlead dev` with practically unlimited capacity. */
export const unlimited = { capacity: '4096Ti' };

const ext4: VolumeCapability = {
  mount: { fs_type: 'ext4' },
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
};

/** Creates a volume for ext4, by default of 1 GiB, and returns its id. */
export async function createVolume(
  { controller }: CsiClient,
  name: string,
  required_bytes = 2 ** 30,
): Promise<string> {
  const request = { name, capacity_range: { required_bytes }, volume_capabilities: [ext4] };
  return (await controller.CreateVolume(request)).volume?.volume_id ?? '';
}

export async function createAndDelete(client: CsiClient, name: string): Promise<void> {
  await client.controller.DeleteVolume({ volume_id: await createVolume(client, name) });
}

/** A volume of 512 MiB that is attached to the node of `fairlead dev`. */
export type AttachedVolume = Awaited<ReturnType<typeof attachVolume>>;

export async function attachVolume(
  { dir, dev, controller, node: { node } }: Awaited<ReturnType<typeof openDev>>,
  name: string,
) {
  const volume_id = await createVolume(controller, name, 512 * 2 ** 20);
  const asked = { volume_id, volume_capability: ext4 };
  const { publish_context } = await controller.controller.ControllerPublishVolume({
    ...asked,
    node_id: dev.nodeId,
  });
  const staging_target_path = join(dir, `${name}-staging`);
  const target_path = join(dir, `${name}-target`);
  mkdirSync(staging_target_path);
  const request = { ...asked, publish_context, staging_target_path, target_path };
  const volume = {
    async bringUp(): Promise<void> {
      await untilAvailable(() => node.NodeStageVolume(request));
      await untilAvailable(() => node.NodePublishVolume(request));
    },
    async takeDown(): Promise<void> {
      await untilAvailable(() => node.NodeUnpublishVolume(request));
      await untilAvailable(() => node.NodeUnstageVolume(request));
    },
    async runCycle(): Promise<void> {
      await volume.bringUp();
      await volume.takeDown();
    },
    readStats: () => node.NodeGetVolumeStats({ volume_id, volume_path: target_path }),
  };
  return volume;
}
