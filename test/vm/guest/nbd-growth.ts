import { statfsSync } from 'node:fs';
import { readConnections, type Connection } from '../../../node-agent/connectors/nbd/connections.ts';
import { ownerOf } from '../../../node-agent/connectors/nbd/kernel.ts';
import { createMachine } from '../../../node-agent/host/linux.ts';
import type { AttachmentOf } from '../../../src/api/attachment.ts';
import { volumeAt, type GuestNode, type VolumeFields } from './agent.ts';

/** A mebibyte, in bytes. */
export const MiB: number = 2 ** 20;
const host = createMachine({ timeoutMs: 60_000 });
const access_mode = { mode: 'SINGLE_NODE_WRITER' as const };
/** A request that was under way is sent again after 30 seconds, and others may keep the machine busy. */
const patienceMs = 180_000;

/** The local ports of the connections that the kernel has for a device, by its index. */
export async function portsOf(index: number): Promise<readonly number[]> {
  const all = await readConnections(host);
  return all.filter(({ owner }) => owner === ownerOf(index)).map(({ local }) => local.port);
}

/** Whosever connections to a server there are. */
export async function connectionsTo({ port }: AttachmentOf<'nbd'>): Promise<readonly Connection[]> {
  return (await readConnections(host)).filter(({ peer }) => peer.port === port);
}

/** The fields of the calls about an export that is mounted with a filesystem. */
export function mounted(node: GuestNode, attachment: AttachmentOf<'nbd'>, fsType: string): VolumeFields {
  const capability = { mount: { fs_type: fsType }, access_mode };
  return volumeAt(node, { name: attachment.export, attachment, capability });
}

/** The fields of the calls about an export that is a block device. */
export function asBlock(node: GuestNode, attachment: AttachmentOf<'nbd'>): VolumeFields {
  return volumeAt(node, { name: attachment.export, attachment, capability: { block: {}, access_mode } });
}

/** Expands a volume on its node, and returns its size in bytes. */
export async function expand(
  { client }: GuestNode,
  fields: VolumeFields,
  sizeBytes: number,
): Promise<number> {
  const request = { ...fields, capacity_range: { required_bytes: sizeBytes } };
  return Number((await client.node.NodeExpandVolume(request, patienceMs)).capacity_bytes);
}

/** The size of the filesystem at a path, in bytes. */
export function roomAt(path: string): number {
  const { blocks, bsize } = statfsSync(path);
  return blocks * bsize;
}
