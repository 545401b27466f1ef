import { nodeSettings } from '../../../node-agent/config.ts';
import { startNodeAgent } from '../../../node-agent/main.ts';
import { toPublishContext, type Attachment } from '../../../src/api/attachment.ts';
import type { CsiClient } from '../../../src/csi/client.ts';
import type { VolumeCapability } from '../../../src/csi/generated/csi/v1/VolumeCapability.ts';
import { silentLog, type Log } from '../../../src/lib/log.ts';
import { clientOf } from '../csi-serving.ts';
import { settingsOf, type Flags } from '../program.ts';
import type { CleanupScope } from '../temporary.ts';

/** Settings beside the usual ones, and a log. */
export type ServeOptions = { readonly flags?: Flags; readonly log?: Log };

/** Serves a node's agent in this process, with all its paths in the directory, until the test ends. */
export async function serveNode(
  t: CleanupScope,
  directory: string,
  { flags, log = silentLog }: ServeOptions = {},
): Promise<CsiClient> {
  const endpoint = `${directory}/csi.sock`;
  const common = { endpoint, 'node-id': 'n1', 'state-dir': `${directory}/state`, 'kubelet-dir': directory };
  const running = await startNodeAgent(settingsOf(nodeSettings, { ...common, ...flags }), log);
  const client = clientOf(t, endpoint);
  t.after(() => running.close());
  return client;
}

/** The capability of an ext4 volume for one writer. */
export const writer: VolumeCapability = {
  mount: { fs_type: 'ext4' },
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
};

/** A volume, its attachment, and its use. */
export type ServedVolume = {
  readonly name: string;
  readonly attachment: Attachment;
  /** By default an ext4 for one writer. */
  readonly capability?: VolumeCapability;
  readonly readonly?: boolean;
};

/** The fields of the Node calls about a volume, and the secrets of a stage. */
export type VolumeFields = Omit<ReturnType<ReturnType<typeof volumesBelow>>, 'volume_path' | 'readonly'> & {
  readonly secrets?: Readonly<Record<string, string>>;
};

/** Makes the fields of all Node calls about one volume, with its own paths on a node. */
export function volumesBelow(directory: string) {
  return ({ name, attachment, capability = writer, readonly = false }: ServedVolume) => ({
    volume_id: `c.${name}`,
    publish_context: toPublishContext(attachment),
    staging_target_path: `${directory}/stage/${name}`,
    target_path: `${directory}/pods/${name}`,
    volume_path: `${directory}/pods/${name}`,
    volume_capability: capability,
    readonly,
  });
}

/** Stages and publishes a volume. */
export async function putUp({ node }: CsiClient, volume: VolumeFields): Promise<void> {
  await node.NodeStageVolume(volume);
  await node.NodePublishVolume(volume);
}

/** Unpublishes and unstages a volume. */
export async function takeDown({ node }: CsiClient, volume: VolumeFields): Promise<void> {
  await node.NodeUnpublishVolume(volume);
  await node.NodeUnstageVolume(volume);
}
