import type { Attachment, Reach } from '../../src/api/attachment.ts';
import { clusterOf } from '../../src/api/ids.ts';
import { Problem, problemTable } from '../../src/api/problem.ts';
import type { AttachmentResource, AttachmentSpec } from '../../src/api/node.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Intended } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Sql } from '../store.ts';
import { attachmentTable, findAttachments, type AttachmentRecord } from '../tables/attachments.ts';
import { findVolume, volumeTable, type VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { requireOwn } from '../tenancy/ownership.ts';
import { toKnownVolume } from '../volumes/documents.ts';
import { requireReadyVolume } from '../volumes/ready.ts';
import { requireCapabilities } from '../volumes/validate.ts';
import { requireShareable } from './access-modes.ts';
import { requireAdmission, requireNode } from './admission.ts';
import { requireNodeId } from './nodes.ts';

/** Which volumes are attached where; a cluster sees and changes only its own volumes. */
export interface Attachments {
  /** Attaches the volume to the node, or finds that it is attached and fits; `created` is false then. */
  attach(
    key: AttachmentKey,
    spec: AttachmentSpec,
  ): Promise<{ attachment: AttachmentResource; created: boolean }>;
  find(key: AttachmentKey): Promise<AttachmentResource | undefined>;
  /** Detaches the volume from the node, or from all without `nodeId`; what is not attached is fine. */
  detach(key: Omit<AttachmentKey, 'nodeId'> & { readonly nodeId?: string | undefined }): Promise<void>;
}

/** Names one attachment of the asking cluster. */
export type AttachmentKey = {
  readonly cluster: Cluster;
  readonly volumeId: string;
  readonly nodeId: string;
};

type Attaching = {
  readonly volume: VolumeRecord;
  readonly attachment: AttachmentRecord;
  /** Something was recorded for this node before; a failure that is final leaves no trace only when nothing was. */
  readonly isRetry: boolean;
};
type Attached = {
  readonly volume: VolumeRecord;
  readonly attachment: AttachmentRecord;
  readonly created: boolean;
};
type Detaching = {
  readonly pool: string;
  /** As they were recorded before. */
  readonly attachments: readonly AttachmentRecord[];
  /** Those that are detached by now. */
  readonly done: Set<AttachmentRecord>;
};

/** Makes the service. */
export function createAttachments({ engine, pools, operations }: ServiceOptions): Attachments {
  async function intendAttach(
    sql: Sql,
    cluster: Cluster,
    asked: AttachmentRecord,
  ): Promise<Intended<Attaching, Attached>> {
    const { volumeId, nodeId } = asked;
    const volume = await requireReadyVolume(sql, volumeId);
    requireCapabilities(pools.get(volume.pool), [asked.capability]);
    const node = await requireNode(sql, cluster, nodeId);
    const attachments = await findAttachments(sql, volumeId);
    const before = attachments.find(other => isSameNode(other, asked));
    if (before && before.state !== 'detaching') requireSame(before, asked);
    if (before?.state === 'attached') return { result: { volume, attachment: before, created: false } };
    for (const other of attachments) if (other !== before) requireShareable(other, asked);
    // What is being attached was admitted; what is being detached has no more right to come back than any other.
    if (before?.state !== 'attaching') await requireAdmission(sql, { volume, cluster, nodeId, node });
    const attachment = before?.state === 'attaching' ? before : asked;
    await attachmentTable.put(sql, attachment);
    return { intent: { volume, attachment, isRetry: before !== undefined } };
  }

  async function intendDetach(
    sql: Sql,
    { cluster, volumeId, nodeId }: Parameters<Attachments['detach']>[0],
  ): Promise<Intended<Detaching, void>> {
    const volume = await findVolume(sql, volumeId);
    const all = volume ? await findAttachments(sql, volumeId) : [];
    const attachments = all.filter(
      other => other.cluster === cluster.name && (nodeId === undefined || other.nodeId === nodeId),
    );
    if (!volume || attachments.length === 0) return { result: undefined };
    for (const attachment of attachments)
      await attachmentTable.update(sql, attachment, { state: 'detaching' });
    return { intent: { pool: volume.pool, attachments, done: new Set() } };
  }

  async function detachAll({ pool, attachments, done }: Detaching): Promise<void> {
    for (const attachment of attachments) {
      await pools.get(pool).backend.detach({ id: attachment.volumeId }, attachment.nodeId);
      done.add(attachment);
    }
  }

  return {
    async attach({ cluster, volumeId, nodeId }, { capability, readonly: asReadonly }) {
      requireNodeId(nodeId);
      requireOwn(cluster, { kind: 'volume', id: volumeId });
      const readonly = asReadonly || capability.accessMode.endsWith('_READER_ONLY');
      const asked: AttachmentRecord = {
        volumeId,
        cluster: cluster.name,
        nodeId,
        capability,
        readonly,
        attachmentId: crypto.randomUUID(),
        state: 'attaching',
        reach: undefined,
        sizeBytes: undefined,
      };
      const done = await operations.run<Attaching, Reach, Attached>({
        operation: 'attach',
        subject: { nodeId, capability, readonly },
        claims: [{ kind: 'volume', id: volumeId }],
        intend: sql => intendAttach(sql, cluster, asked),
        act: ({ volume, attachment: { attachmentId } }) =>
          pools
            .get(volume.pool)
            .backend.attach(toKnownVolume(volume), { nodeId, attachmentId, capability, readonly }),
        async succeed(sql, { intent: { volume, attachment }, effect: reach }) {
          if (capability.accessType === 'block' && !readonly && !volume.usedRaw)
            await volumeTable.update(sql, volume, { usedRaw: true });
          const attached = { state: 'attached', reach, sizeBytes: volume.sizeBytes } as const;
          await attachmentTable.update(sql, attachment, attached);
          return { volume, attachment: { ...attachment, ...attached }, created: true };
        },
        async fail(sql, { intent: { attachment, isRetry }, problem }) {
          if (problemTable[problem.code].final && !isRetry) await attachmentTable.remove(sql, attachment);
        },
      });
      return { attachment: toResource(done.attachment, done.volume), created: done.created };
    },

    async find({ cluster, volumeId, nodeId }) {
      const volume = await findVolume(engine.reader, volumeId);
      if (volume?.cluster !== cluster.name) return undefined;
      const key = { volumeId, cluster: cluster.name, nodeId };
      const found = await attachmentTable.find(engine.reader, key);
      return found && toResource(found, volume);
    },

    async detach(key) {
      const { cluster, volumeId, nodeId } = key;
      if (clusterOf(volumeId) !== cluster.name) return;
      const forget = async (sql: Sql, { done }: Detaching): Promise<void> => {
        for (const attachment of done) await attachmentTable.remove(sql, attachment);
      };
      await operations.run<Detaching, void, void>({
        operation: 'detach',
        subject: { nodeId },
        claims: [{ kind: 'volume', id: volumeId }],
        intend: sql => intendDetach(sql, key),
        act: detachAll,
        succeed: (sql, { intent }) => forget(sql, intent),
        async fail(sql, { intent, problem }) {
          await forget(sql, intent);
          // Who asked is told that it is still attached; after any other failure a retry goes on.
          if (problem.code !== 'FAILED_PRECONDITION') return;
          for (const attachment of intent.attachments)
            if (!intent.done.has(attachment)) await attachmentTable.put(sql, attachment);
        },
      });
    },
  };
}

function requireSame(before: AttachmentRecord, asked: AttachmentRecord): void {
  const attached = `volume "${asked.volumeId}" is attached to node "${asked.nodeId}"`;
  if (before.readonly !== asked.readonly)
    throw new Problem('ALREADY_EXISTS', `${attached} ${before.readonly ? 'read-only' : 'for writing'}`);
  if (!sameJson(before.capability, asked.capability))
    throw new Problem('ALREADY_EXISTS', `${attached} with another capability`);
}

function isSameNode(
  a: Pick<AttachmentRecord, 'cluster' | 'nodeId'>,
  b: Pick<AttachmentRecord, 'cluster' | 'nodeId'>,
): boolean {
  return a.cluster === b.cluster && a.nodeId === b.nodeId;
}

/** Its context stays the same for as long as it is attached, whatever becomes of the volume. */
function toResource(record: AttachmentRecord, volume: VolumeRecord): AttachmentResource {
  const { volumeId, nodeId, state, readonly, attachmentId, reach } = record;
  const resource = { volumeId, nodeId, state, readonly };
  if (state !== 'attached' || !reach) return resource;
  const sizeBytes = record.sizeBytes ?? volume.sizeBytes;
  const isEmpty = volume.source === undefined && !volume.usedRaw;
  const mayFormat = isEmpty && record.capability.accessType === 'mount';
  const attachment: Attachment = { ...reach, attachmentId, sizeBytes, readonly, mayFormat };
  return { ...resource, attachment };
}
