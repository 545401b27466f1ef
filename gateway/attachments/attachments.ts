import { clusterOf } from '../../src/api/ids.ts';
import type { Attachment, Reach } from '../../src/api/attachment.ts';
import { isReplacedBy } from '../../src/api/node-identity.ts';
import { Problem, problemTable } from '../../src/api/problem.ts';
import type { AttachmentResource, AttachmentSpec } from '../../src/api/node.ts';
import { findAdmitted, requireAdmittance } from './admission.ts';
import { createClosing, type Closing } from './closing.ts';
import { closeStale, findStale, requireLatest } from './epochs.ts';
import { sameJson } from '../../src/lib/json.ts';
import { requireNodeId } from './nodes.ts';
import {
  findAttachments,
  putAttachment,
  removeAttachment,
  type AttachmentRecord,
} from '../tables/attachments.ts';
import type { Claim } from '../tables/claims.ts';
import { claimVolume, findVolume, markUsedRaw, releaseVolume, type VolumeRecord } from '../tables/volumes.ts';
import { checkCapabilities } from '../volumes/validate.ts';
import { requireShareable } from './access-modes.ts';
import { toKnownVolume } from '../volumes/documents.ts';
import type { Sql } from '../store.ts';
import type { ServiceOptions } from '../volumes/volumes.ts';
import { requireHeld, type Intended } from '../operations/operation.ts';

/** Which volumes are attached where; a cluster sees and changes only its own volumes. */
export interface Attachments {
  /**
   * Opens the way from the node to the volume, or finds that it is open and fits; `created` is false then. Ways from
   * machines that the node took the place of are closed before; FAILED_PRECONDITION when another took the node's.
   */
  attach(
    key: AttachmentKey,
    spec: AttachmentSpec,
  ): Promise<{ attachment: AttachmentResource; created: boolean }>;
  find(key: AttachmentKey): Promise<AttachmentResource | undefined>;
  /**
   * Closes the ways to one node and to those that it took the place of, or to all without `nodeId`; what is not there
   * is fine.
   */
  detach(key: Omit<AttachmentKey, 'nodeId'> & { readonly nodeId?: string }): Promise<void>;
}

/** The cluster that asks, as much of it as attaching needs to know. */
export type AskingCluster = { readonly name: string; readonly acceptAnyNode: boolean };

/** Names one attachment of the asking cluster. */
export type AttachmentKey = {
  readonly cluster: AskingCluster;
  readonly volumeId: string;
  readonly nodeId: string;
};

type Attaching = {
  readonly volume: VolumeRecord;
  readonly attachment: AttachmentRecord;
  /** What was recorded for this node before; a failure that is final leaves no trace only when nothing was. */
  readonly before: AttachmentRecord | undefined;
  /** The ways from machines that the node took the place of. */
  readonly stale: Closing;
};
type Attached = {
  readonly volume: VolumeRecord;
  readonly attachment: AttachmentRecord;
  readonly created: boolean;
};

/** Makes the service. */
export function createAttachments({ engine, backend, work }: ServiceOptions): Attachments {
  async function intendAttach(
    sql: Sql,
    { cluster, asked }: { readonly cluster: AskingCluster; readonly asked: AttachmentRecord },
    claim: Claim,
  ): Promise<Intended<Attaching, Attached>> {
    const volume = requireReady(asked, await findVolume(sql, asked.volumeId));
    const node = await findAdmitted(sql, cluster, asked.nodeId);
    const attachments = await findAttachments(sql, asked.volumeId);
    await requireLatest(sql, asked, attachments);
    const before = attachments.find(other => isSameNode(other, asked));
    if (before && before.state !== 'detaching') requireSame(before, asked);
    if (before?.state === 'attached') return { result: { volume, attachment: before, created: false } };
    const old = findStale(asked, attachments);
    for (const other of attachments)
      if (!isSameNode(other, asked) && !old.includes(other)) requireShareable(other, asked);
    // What is on its way there was admitted; what is on its way off has no more right to come back than any other.
    if (before?.state !== 'attaching')
      await requireAdmittance(sql, { volume, cluster, nodeId: asked.nodeId, node });
    work.requireFree(volume);
    const attachment = before?.state === 'attaching' ? before : asked;
    const stale = createClosing(backend, old);
    await stale.intend(sql);
    await putAttachment(sql, attachment);
    await claimVolume(sql, volume, claim);
    return { intent: { volume, attachment, before, stale } };
  }

  async function intendDetach(
    sql: Sql,
    { cluster, volumeId, nodeId }: Parameters<Attachments['detach']>[0],
    claim: Claim,
  ): Promise<Intended<Closing, void>> {
    const volume = await findVolume(sql, volumeId);
    const attachments = volume ? await findAttachments(sql, volumeId) : [];
    const isMeant = (other: string): boolean =>
      nodeId === undefined || other === nodeId || isReplacedBy(other, nodeId);
    const meant = attachments.filter(other => other.cluster === cluster.name && isMeant(other.nodeId));
    if (!volume || meant.length === 0) return { result: undefined };
    work.requireFree(volume);
    const closing = createClosing(backend, meant);
    await closing.intend(sql);
    await claimVolume(sql, volume, claim);
    return { intent: closing };
  }

  async function settleDetach(sql: Sql, volumeId: string, closing: Closing): Promise<void> {
    await free(sql, volumeId);
    await closing.settle(sql);
  }

  /** Between two steps: whoever took the work over meanwhile may have attached the volume to another node. */
  async function requireOwn(volumeId: string): Promise<void> {
    const volume = await findVolume(engine.reader, volumeId);
    requireHeld(volume?.claim?.owner === work.owner, { kind: 'volume', id: volumeId });
  }

  async function free(sql: Sql, volumeId: string): Promise<void> {
    const held = await releaseVolume(sql, { id: volumeId, state: 'ready' }, work.owner);
    requireHeld(held, { kind: 'volume', id: volumeId });
  }

  return {
    async attach({ cluster, volumeId, nodeId }, { capability, readonly: asReadonly }) {
      requireNodeId(nodeId);
      checkCapabilities(backend, [capability]);
      if (clusterOf(volumeId) !== cluster.name) throw notFound(volumeId);
      const readonly = asReadonly || capability.accessMode.endsWith('_READER_ONLY');
      const asked: AttachmentRecord = {
        volumeId,
        cluster: cluster.name,
        nodeId,
        capability,
        readonly,
        reach: undefined,
        sizeBytes: undefined,
        attachmentId: crypto.randomUUID(),
        state: 'attaching',
      };
      const done = await work.run<Attaching, Reach, Attached>({
        resources: [{ kind: 'volume', id: volumeId }],
        operation: 'attach',
        subject: { nodeId, capability, readonly },
        intend: (sql, claim) => intendAttach(sql, { cluster, asked }, claim),
        async act({ volume, attachment: { attachmentId }, stale }) {
          if (stale.open().length > 0) {
            await closeStale(asked, stale);
            await requireOwn(volumeId);
          }
          return backend.attach(toKnownVolume(volume), { nodeId, attachmentId, capability, readonly });
        },
        async succeed(sql, { intent: { volume, attachment, stale }, effect: reach }) {
          await free(sql, volumeId);
          await stale.settle(sql);
          if (capability.accessType === 'block' && !readonly) await markUsedRaw(sql, volumeId);
          const attached: AttachmentRecord = {
            ...attachment,
            state: 'attached',
            reach,
            sizeBytes: volume.sizeBytes,
          };
          await putAttachment(sql, attached);
          return { volume, attachment: attached, created: true };
        },
        async fail(sql, { intent: { attachment, before, stale }, problem }) {
          await free(sql, volumeId);
          const { refused } = await stale.settle(sql);
          const isOver = refused || problemTable[problem.code].final;
          if (isOver && !before) await removeAttachment(sql, attachment);
        },
      });
      return { attachment: toResource(done.attachment, done.volume), created: done.created };
    },

    async find({ cluster, volumeId, nodeId }) {
      const volume = await findVolume(engine.reader, volumeId);
      if (volume?.cluster !== cluster.name) return undefined;
      const attachments = await findAttachments(engine.reader, volumeId);
      const found = attachments.find(other => isSameNode(other, { cluster: cluster.name, nodeId }));
      return found && toResource(found, volume);
    },

    async detach(key) {
      const { cluster, volumeId, nodeId } = key;
      if (clusterOf(volumeId) !== cluster.name) return;
      await work.run<Closing, void, void>({
        resources: [{ kind: 'volume', id: volumeId }],
        operation: 'detach',
        subject: { nodeId },
        intend: (sql, claim) => intendDetach(sql, key, claim),
        act: closing => closing.act(),
        succeed: (sql, { intent }) => settleDetach(sql, volumeId, intent),
        fail: (sql, { intent }) => settleDetach(sql, volumeId, intent),
      });
    },
  };
}

function requireReady({ volumeId }: AttachmentRecord, volume: VolumeRecord | undefined): VolumeRecord {
  if (!volume) throw notFound(volumeId);
  if (volume.state !== 'ready')
    throw new Problem('ABORTED', `volume "${volumeId}" is not ready: it is ${volume.state}`);
  return volume;
}

function requireSame(before: AttachmentRecord, asked: AttachmentRecord): void {
  const place = `volume "${asked.volumeId}" is attached to node "${asked.nodeId}"`;
  if (before.readonly !== asked.readonly)
    throw new Problem('ALREADY_EXISTS', `${place} ${before.readonly ? 'read-only' : 'for writing'}`);
  if (!sameJson(before.capability, asked.capability))
    throw new Problem('ALREADY_EXISTS', `${place} with another capability`);
}

function isSameNode(
  a: Pick<AttachmentRecord, 'cluster' | 'nodeId'>,
  b: Pick<AttachmentRecord, 'cluster' | 'nodeId'>,
): boolean {
  return a.cluster === b.cluster && a.nodeId === b.nodeId;
}

function notFound(volumeId: string): Problem {
  return new Problem('NOT_FOUND', `there is no volume "${volumeId}"`);
}

/** Its context stays the same for as long as it is attached, whatever becomes of the volume. */
function toResource(record: AttachmentRecord, volume: VolumeRecord): AttachmentResource {
  const { volumeId, nodeId, state, readonly, attachmentId, reach } = record;
  const resource = { volumeId, nodeId, state, readonly };
  if (state !== 'attached' || !reach) return resource;
  const sizeBytes = record.sizeBytes ?? volume.sizeBytes;
  const isEmpty = volume.spec.source === undefined && !volume.usedRaw;
  const mayFormat = isEmpty && record.capability.accessType === 'mount';
  const attachment: Attachment = { ...reach, attachmentId, sizeBytes, readonly, mayFormat };
  return { ...resource, attachment };
}
