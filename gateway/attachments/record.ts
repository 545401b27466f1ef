import { isDroppedProtocol, type Attachment } from '../../src/api/attachment.ts';
import { encryptionOf } from '../../src/api/filesystems.ts';
import { clusterOf } from '../../src/api/ids.ts';
import { ioLimitsOf } from '../../src/api/attachments/io-limits.ts';
import { limitProblem, limits } from '../../src/api/limits.ts';
import type { AttachmentResource, NodeSpec } from '../../src/api/node.ts';
import type { NodeAccess } from '../backend.ts';
import { preconditionProblem, Problem } from '../../src/api/problem.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Reader } from '../store.ts';
import type { AttachmentCounts, AttachmentRecord } from '../tables/attachments.ts';
import type { GrantRecord } from '../tables/grants.ts';
import { type NodeKey, nodeTable } from '../tables/nodes.ts';
import type { VolumeRecord } from '../tables/volumes.ts';

/**
 * Makes a UUID of version 7 (RFC 9562). Its first 48 bits are the time, so that nodes can find the older of two attachments.
 */
export function newAttachmentId(atMs: number): string {
  const time = atMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}

/** Splits a volume's attachments into the node's own and the attachments of other nodes. */
export function groupByNode(attachments: readonly AttachmentRecord[], { cluster, nodeId }: NodeKey) {
  const isOwn = (one: AttachmentRecord): boolean => one.cluster === cluster && one.nodeId === nodeId;
  return { before: attachments.find(isOwn), others: attachments.filter(one => !isOwn(one)) };
}

/** Names the part of a volume that an attachment to the node changes. */
export function nodePart({ cluster, nodeId }: NodeKey): string {
  return `${cluster}/${nodeId}`;
}

export type AttachRequest = Omit<AttachmentRecord, 'attachmentId'>;

/** Throws ALREADY_EXISTS when the existing attachment differs from the request. */
export function requireSame(before: AttachmentRecord, request: AttachRequest): void {
  const attached = `volume "${request.volumeId}" is attached to node "${request.nodeId}"`;
  if (before.readonly !== request.readonly)
    throw new Problem('ALREADY_EXISTS', `${attached} ${before.readonly ? 'read-only' : 'for writing'}`);
  if (!sameJson(before.capability, request.capability))
    throw new Problem('ALREADY_EXISTS', `${attached} with another capability`);
}

/** Throws FAILED_PRECONDITION when the volume or the cluster has the maximum number of attachments. */
export function requireFew(
  { ofVolume, ofCluster }: AttachmentCounts,
  { volumeId, cluster }: Pick<AttachmentRecord, 'volumeId' | 'cluster'>,
): void {
  if (ofVolume >= limits.attachmentsPerVolume.max)
    throw limitProblem(
      'attachmentsPerVolume',
      `volume "${volumeId}" at nodes of ${cluster === clusterOf(volumeId) ? 'its cluster' : 'clusters that share it'}`,
      ofVolume + 1,
    );
  if (ofCluster >= limits.attachmentsPerCluster.max)
    throw limitProblem('attachmentsPerCluster', `cluster "${cluster}"`, ofCluster + 1);
}

/** Returns true when a workload could write to the raw device. An encrypted device has a header that identifies it. */
export function isUsedRaw(
  { usedRaw, spec }: VolumeRecord,
  { capability, readonly }: AttachmentRecord,
): boolean {
  const isRaw = capability.accessType === 'block' && encryptionOf(spec.parameters) === undefined;
  return usedRaw || (isRaw && !readonly);
}

/**
 * Gives `mayReplay` to a reader of a filesystem that is attached to no other node, and that its cluster may
 * write. While it is attached, no writer can be attached (see `requireShareable`), so a journal to replay
 * belongs to no mount elsewhere.
 */
export function replayRight(
  { capability: { accessType, accessMode }, readonly }: AttachRequest,
  {
    grant,
    others,
  }: { readonly grant: GrantRecord | undefined; readonly others: readonly AttachmentRecord[] },
): { readonly mayReplay?: true } {
  const isAmongReaders = accessMode.startsWith('SINGLE_NODE_') || accessMode === 'MULTI_NODE_READER_ONLY';
  const isReader = readonly && accessType === 'mount' && isAmongReaders;
  return isReader && others.length === 0 && grant?.access !== 'read-only' ? { mayReplay: true } : {};
}

export function toAccess(
  { nodeId, cluster, attachmentId, capability, readonly }: AttachmentRecord,
  { volume, node: { topology, addresses, name, providerId } = {}, mayReplay }: AccessParts,
): NodeAccess {
  const ioLimits = ioLimitsOf(volume.mutableParameters);
  const own = { nodeId, cluster, attachmentId, capability, readonly, mayReplay };
  return {
    ...own,
    ...(Object.keys(ioLimits).length > 0 && { limits: ioLimits }),
    ...(topology && { topology }),
    ...(addresses && { addresses }),
    ...(name !== undefined && { name }),
    ...(providerId !== undefined && { providerId }),
  };
}

/** The cluster's present report of the node; undefined without one. */
export type ReportedNode = { readonly node: NodeSpec | undefined };

type AccessParts = ReportedNode & Pick<NodeAccess, 'mayReplay'> & { readonly volume: VolumeRecord };

/** Makes the access of a recorded attachment, with its cluster's present report of the node. */
export async function readAccess(
  reader: Reader,
  record: AttachmentRecord,
  volume: VolumeRecord,
): Promise<NodeAccess> {
  const { cluster, nodeId, reach } = record;
  const node = (await nodeTable.find(reader, { cluster, nodeId }))?.spec;
  return toAccess(record, { volume, node, mayReplay: reach?.mayReplay });
}

/**
 * Shows the attachment as the API does, unsigned. Its context stays the same while it is attached, even if
 * the volume changes. FAILED_PRECONDITION for an attachment of an earlier release whose protocol is no longer
 * offered.
 */
export function toResource(record: AttachmentRecord, volume: VolumeRecord): AttachmentResource {
  const { volumeId, nodeId, state, readonly, attachmentId, reach } = record;
  const resource = { volumeId, nodeId, state, readonly };
  if (state !== 'attached' || !reach) return resource;
  if (isDroppedProtocol(reach.protocol))
    throw preconditionProblem(
      `volume "${volumeId}" is attached to node "${nodeId}" over ${reach.protocol}, which is no longer offered; detach it and attach it again`,
    );
  const sizeBytes = record.sizeBytes ?? volume.sizeBytes;
  const encryption = encryptionOf(volume.spec.parameters);
  const isEmpty = volume.source === undefined && !volume.usedRaw && reach.mayFormat !== false;
  // An encrypted volume is formatted even as a raw device, and its header shows that it was.
  const mayFormat = isEmpty && (record.capability.accessType === 'mount' || encryption !== undefined);
  const common = {
    attachmentId,
    sizeBytes,
    readonly,
    mayFormat,
    ...(encryption && { encryption }),
    ...(record.trimTurn !== undefined && { trimTurn: record.trimTurn }),
  };
  const { limitsIo: _, ...known } = reach;
  const attachment: Attachment = { ...known, ...common };
  return { ...resource, attachment };
}
