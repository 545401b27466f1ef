import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CsiClient } from '../../src/csi/client.ts';
import type { VolumeCapability } from '../../src/csi/generated/csi/v1/VolumeCapability.ts';
import { untilAvailable } from '../harness/csi-serving.ts';
import type { OpenDev } from '../harness/dev.ts';

/** `fairlead dev` with practically unlimited capacity. */
export const unlimited = { capacity: '4096Ti' };

export const ext4: VolumeCapability = {
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

/** A volume that is attached to a node, and the calls of its life there. */
export type AttachedVolume = ReturnType<typeof attachedVolume>;

/** Makes the calls of a volume whose staging directory and target path lie in `dir`. */
export function attachedVolume(
  { node }: Pick<CsiClient, 'node'>,
  dir: string,
  attached: { readonly volume_id: string; readonly publish_context: Readonly<Record<string, string>> },
) {
  const staging_target_path = join(dir, `${attached.volume_id}-staging`);
  const target_path = join(dir, `${attached.volume_id}-target`);
  mkdirSync(staging_target_path);
  const request = { ...attached, volume_capability: ext4, staging_target_path, target_path };
  const volume = {
    stage: () => untilAvailable(() => node.NodeStageVolume(request)),
    unstage: () => untilAvailable(() => node.NodeUnstageVolume(request)),
    async bringUp(): Promise<void> {
      await volume.stage();
      await untilAvailable(() => node.NodePublishVolume(request));
    },
    async takeDown(): Promise<void> {
      await untilAvailable(() => node.NodeUnpublishVolume(request));
      await volume.unstage();
    },
    async runCycle(): Promise<void> {
      await volume.bringUp();
      await volume.takeDown();
    },
    readStats: () =>
      untilAvailable(() =>
        node.NodeGetVolumeStats({ volume_id: attached.volume_id, volume_path: target_path }),
      ),
  };
  return volume;
}

/** Creates a volume of 512 MiB and attaches it to the node of `fairlead dev`. */
export async function attachVolume(
  { dir, dev, controller, node }: OpenDev,
  name: string,
): Promise<AttachedVolume> {
  const volume_id = await createVolume(controller, name, 512 * 2 ** 20);
  const { publish_context = {} } = await controller.controller.ControllerPublishVolume({
    volume_id,
    volume_capability: ext4,
    node_id: dev.nodeId,
  });
  return attachedVolume(node, dir, { volume_id, publish_context });
}
