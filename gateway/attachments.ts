import { clusterOf } from '../src/api/ids.ts';
import type { Attachment, Reach } from '../src/api/attachment.ts';
import { Problem, problemTable } from '../src/api/problem.ts';
import type { AttachmentResource, AttachmentSpec } from '../src/api/resources.ts';
import { findAdmitted, requireAdmittance } from './admittance.ts';
import { sameJson } from './json.ts';
import { requireNodeId } from './nodes.ts';
import {
  findAttachments,
  putAttachment,
  removeAttachment,
  type AttachmentRecord,
} from './records/attachments.ts';
import type { Claim } from './records/claims.ts';
import { claimVolume, findVolume, markUsedRaw, releaseVolume, type VolumeRecord } from './records/volumes.ts';
import { checkCapabilities } from './requirements.ts';
import { requireShareable } from './sharing.ts';
import { toKnownVolume } from './show.ts';
import type { Sql } from './store.ts';
import type { ServiceOptions } from './volumes.ts';
import { requireHeld, type Intended } from './work.ts';

/** Which volumes are attached where; a cluster sees and changes only its own volumes. */
export interface Attachments {
  /** Opens the way from the node to the volume, or finds that it is open and fits; `created` is false then. */
  attach(
    key: AttachmentKey,
    spec: AttachmentSpec,
  ): Promise<{ attachment: AttachmentResource; created: boolean }>;
  find(key: AttachmentKey): Promise<AttachmentResource | undefined>;
  /** Closes the ways to one node, or to all without `nodeId`; what is not there is fine. */
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
    const before = attachments.find(other => isSameNode(other, asked));
    if (before && before.state !== 'detaching') requireSame(before, asked);
    if (before?.state === 'attached') return { result: { volume, attachment: before, created: false } };
    for (const other of attachments) if (!isSameNode(other, asked)) requireShareable(other, asked);
    if (!before) await requireAdmittance(sql, { volume, cluster, nodeId: asked.nodeId, node });
    work.requireFree(volume);
    const attachment = before?.state === 'attaching' ? before : asked;
    await putAttachment(sql, attachment);
    await claimVolume(sql, volume, claim);
    return { intent: { volume, attachment, before } };
  }

  async function intendDetach(
    sql: Sql,
    { cluster, volumeId, nodeId }: Parameters<Attachments['detach']>[0],
    claim: Claim,
  ): Promise<Intended<readonly AttachmentRecord[], void>> {
    const volume = await findVolume(sql, volumeId);
    const attachments = volume ? await findAttachments(sql, volumeId) : [];
    const closing = attachments.filter(
      other => other.cluster === cluster.name && (nodeId === undefined || other.nodeId === nodeId),
    );
    if (!volume || closing.length === 0) return { result: undefined };
    work.requireFree(volume);
    for (const attachment of closing) await putAttachment(sql, { ...attachment, state: 'detaching' });
    await claimVolume(sql, volume, claim);
    return { intent: closing };
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
        act: ({ volume, attachment }) =>
          backend.attach(toKnownVolume(volume), {
            nodeId,
            attachmentId: attachment.attachmentId,
            capability,
            readonly,
          }),
        async succeed(sql, { intent: { volume, attachment }, effect: reach }) {
          await free(sql, volumeId);
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
        async fail(sql, { intent: { attachment, before }, problem }) {
          await free(sql, volumeId);
          if (problemTable[problem.code].final && !before) await removeAttachment(sql, attachment);
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
      const closed = new Set<AttachmentRecord>();
      await work.run<readonly AttachmentRecord[], void, void>({
        resources: [{ kind: 'volume', id: volumeId }],
        operation: 'detach',
        subject: { nodeId },
        intend: (sql, claim) => intendDetach(sql, key, claim),
        async act(closing) {
          for (const attachment of closing) {
            await backend.detach({ id: volumeId }, attachment.nodeId);
            closed.add(attachment);
          }
        },
        async succeed(sql, { intent: closing }) {
          await free(sql, volumeId);
          for (const attachment of closing) await removeAttachment(sql, attachment);
        },
        async fail(sql, { intent: closing, problem }) {
          await free(sql, volumeId);
          // The caller is told that it is attached still, so it must be, with the same context.
          if (problem.code !== 'FAILED_PRECONDITION') return;
          for (const attachment of closing) if (!closed.has(attachment)) await putAttachment(sql, attachment);
        },
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
