import type { Attachment } from '../../src/api/attachment.ts';
import { encryptionOf } from '../../src/api/filesystems.ts';
import { readNodeId } from '../../src/api/ids.ts';
import type { AttachmentResource } from '../../src/api/node.ts';
import { Problem } from '../../src/api/problem.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { AttachmentRecord } from '../tables/attachments.ts';
import type { VolumeRecord } from '../tables/volumes.ts';

/** A UUID of version 7 (RFC 9562), by which nodes know the older of two attachments: its first 48 bits are the time. */
export function newAttachmentId(atMs: number): string {
  const time = atMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}

/** What there is of a node's own, of a machine that has had its name with another key, and of other nodes. */
export function apart(
  attachments: readonly AttachmentRecord[],
  { cluster, nodeId }: Pick<AttachmentRecord, 'cluster' | 'nodeId'>,
) {
  const { name } = readNodeId(nodeId);
  const isOfName = (one: AttachmentRecord): boolean =>
    one.cluster === cluster && readNodeId(one.nodeId).name === name;
  const ofName = attachments.filter(isOfName);
  return {
    before: ofName.find(one => one.nodeId === nodeId),
    former: ofName.find(one => one.nodeId !== nodeId),
    others: attachments.filter(one => !ofName.includes(one)),
  };
}

/** What is asked for of one attachment. */
export type AskedAttachment = Omit<AttachmentRecord, 'attachmentId'>;

/** ALREADY_EXISTS for what is attached to the node otherwise than asked. */
export function requireSame(before: AttachmentRecord, asked: AskedAttachment): void {
  const attached = `volume "${asked.volumeId}" is attached to node "${asked.nodeId}"`;
  if (before.readonly !== asked.readonly)
    throw new Problem('ALREADY_EXISTS', `${attached} ${before.readonly ? 'read-only' : 'for writing'}`);
  if (!sameJson(before.capability, asked.capability))
    throw new Problem('ALREADY_EXISTS', `${attached} with another capability`);
}

/** True when a workload wrote to the volume as it is, or can now: what is encrypted says of itself that it is. */
export function isUsedRaw(
  { usedRaw, spec }: VolumeRecord,
  { capability, readonly }: AttachmentRecord,
): boolean {
  const isRaw = capability.accessType === 'block' && encryptionOf(spec.parameters) === undefined;
  return usedRaw || (isRaw && !readonly);
}

/** The attachment as the API shows it, unsigned. Its context stays the same for as long as it is attached, whatever becomes of the volume. */
export function toResource(record: AttachmentRecord, volume: VolumeRecord): AttachmentResource {
  const { volumeId, nodeId, state, readonly, attachmentId, reach } = record;
  const resource = { volumeId, nodeId, state, readonly };
  if (state !== 'attached' || !reach) return resource;
  const sizeBytes = record.sizeBytes ?? volume.sizeBytes;
  const encryption = encryptionOf(volume.spec.parameters);
  const isEmpty = volume.source === undefined && !volume.usedRaw && reach.mayFormat !== false;
  // What encrypts is made on a raw device, too, and says of itself that it was.
  const mayFormat = isEmpty && (record.capability.accessType === 'mount' || encryption !== undefined);
  const common = { attachmentId, sizeBytes, readonly, mayFormat, ...(encryption && { encryption }) };
  const attachment: Attachment = { ...reach, ...common };
  return { ...resource, attachment };
}
