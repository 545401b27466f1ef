import type { Reach } from '../../src/api/attachment.ts';
import type { AttachmentResource, AttachmentSpec } from '../../src/api/node.ts';
import { readNodeId } from '../../src/api/ids.ts';
import { asProblem, Problem, problemTable, unavailableProblem } from '../../src/api/problem.ts';
import type { Segments } from '../../src/api/topology.ts';
import type { Intended, Operation } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Sql } from '../store.ts';
import {
  type AttachmentRecord,
  attachmentTable,
  findAttachments,
  findNextTime,
  noteAttachmentTime,
} from '../tables/attachments.ts';
import { nodeTable } from '../tables/nodes.ts';
import { findVolume, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { hasAccess, requireAccess, requireGranted } from '../tenancy/access.ts';
import { requireReadyVolume } from '../volumes/record.ts';
import { isForReaders, requireCapabilities } from '../volumes/validate.ts';
import { lockNode, requireAdmission, requireNode, requireNodeId, requireShareable } from './nodes.ts';
import {
  apart,
  type AskedAttachment,
  isUsedRaw,
  newAttachmentId,
  requireSame,
  toResource,
} from './record.ts';
import { seal } from './sealing.ts';
import { signed } from './signing.ts';
import { createStorageSide } from './storage-side.ts';

/** Names one attachment of the asking cluster. */
type AttachmentKey = {
  readonly cluster: Cluster;
  readonly volumeId: string;
  readonly nodeId: string;
};

type Attaching = {
  readonly volume: VolumeRecord;
  readonly attachment: AttachmentRecord;
  readonly topology: Segments | undefined;
  /** Something was recorded for this node before; a failure that is final leaves no trace only when nothing was. */
  readonly isRetry: boolean;
};
type Attached = { readonly attachment: AttachmentResource; readonly created: boolean };
/** Of a machine that had the node's name before, and another key. */
type Former = { readonly former: AttachmentRecord };
type Detaching = { readonly volume: VolumeRecord; readonly before: AttachmentRecord };

/** Makes what attaches volumes to nodes; a cluster sees and changes only its own volumes. */
export function createAttachments({ engine, pools, operations, signDetached }: ServiceOptions) {
  const { attachIn, detachIn, settle } = createStorageSide(pools);

  async function intendAttach(
    sql: Sql,
    cluster: Cluster,
    asked: AskedAttachment,
  ): Promise<Intended<Attaching, Attached | Former>> {
    const { volumeId, nodeId } = asked;
    await lockNode(sql, asked);
    const [volume, reported, attachments, grant, time] = await Promise.all([
      requireReadyVolume(sql, volumeId),
      nodeTable.find(sql, asked),
      findAttachments(sql, volumeId),
      requireAccess(sql, cluster, volumeId),
      findNextTime(sql, volumeId),
    ]);
    requireCapabilities(pools.get(volume.pool), [asked.capability], volume.spec.parameters);
    if (grant) requireGranted(grant, asked.readonly);
    const node = requireNode(cluster, nodeId, reported?.spec);
    const { before, former, others } = apart(attachments, asked);
    if (before && before.state !== 'detaching') requireSame(before, asked);
    if (before?.state === 'attached')
      return { result: { attachment: toResource(before, volume), created: false } };
    for (const other of others) requireShareable(other, asked);
    // What is being attached was admitted; what is being detached has no more right to come back than any other.
    if (before?.state !== 'attaching') await requireAdmission(sql, { volume, cluster, nodeId, node });
    if (former) return { result: { former } };
    const isBegun = before?.state === 'attaching';
    const attachment = isBegun ? before : { ...asked, attachmentId: newAttachmentId(time.seenMs) };
    if (!isBegun) await noteAttachmentTime(sql, time);
    await attachmentTable.replace(sql, attachment);
    return { intent: { volume, attachment, topology: node?.topology, isRetry: before !== undefined } };
  }

  /**
   * What the node has under its name with another key is detached in its place: nobody can ask for that any more. `begun`
   * names an attachment that is detached only while it is not more than begun.
   */
  async function detachFrom(
    { cluster: { name: cluster }, volumeId, nodeId }: AttachmentKey,
    begun?: string,
  ): Promise<void> {
    const key = { cluster, volumeId, nodeId };
    await operations.run<Detaching, void, void>({
      operation: 'detach',
      subject: { cluster, nodeId, begun },
      about: nodeId,
      claims: [{ kind: 'volume', id: volumeId }],
      pool: ({ volume }) => volume.pool,
      async intend(sql) {
        const [volume, exact] = await Promise.all([
          findVolume(sql, volumeId),
          attachmentTable.find(sql, key),
        ]);
        const isLeft = begun !== undefined && (exact?.attachmentId !== begun || exact.state === 'attached');
        if (!volume || isLeft) return { result: undefined };
        const before = exact ?? apart(await findAttachments(sql, volumeId), key).former;
        if (!before) return { result: undefined };
        await attachmentTable.update(sql, before, { state: 'detaching' });
        return { intent: { volume, before } };
      },
      act: ({ volume, before }) => detachIn(volume, before),
      async succeed(sql, { intent: { before } }) {
        await attachmentTable.remove(sql, before);
      },
      async fail(sql, { intent, problem }) {
        // The caller learns that it is still attached; after any other failure a retry goes on.
        if (problem.code === 'FAILED_PRECONDITION') await attachmentTable.replace(sql, intent.before);
      },
      settle: ({ volume, before }) => settle(volume, before),
    });
  }

  const attachSealed = async ({ volume, attachment, topology }: Attaching): Promise<Reach> => {
    const { nodeId, cluster, attachmentId, capability, readonly } = attachment;
    const access = { nodeId, cluster, attachmentId, capability, readonly, ...(topology && { topology }) };
    const reach = await attachIn(volume, access);
    return seal(reach, nodeId).catch(async (error: unknown) => {
      await detachIn(volume, attachment);
      throw error;
    });
  };

  function attaching(
    cluster: Cluster,
    asked: AskedAttachment,
  ): Operation<Attaching, Reach, Attached | Former> {
    const { volumeId, nodeId, capability, readonly } = asked;
    return {
      operation: 'attach',
      subject: { cluster: cluster.name, nodeId, capability, readonly },
      about: nodeId,
      claims: [{ kind: 'volume', id: volumeId }],
      pool: ({ volume }) => volume.pool,
      intend: sql => intendAttach(sql, cluster, asked),
      act: attachSealed,
      async succeed(sql, { intent: { volume, attachment }, effect: reach }) {
        const usedRaw = isUsedRaw(volume, attachment);
        if (usedRaw !== volume.usedRaw) await volumeTable.update(sql, volume, { usedRaw });
        const attached = { state: 'attached', reach, sizeBytes: volume.sizeBytes } as const;
        await attachmentTable.update(sql, attachment, attached);
        return { attachment: toResource({ ...attachment, ...attached }, volume), created: true };
      },
      async fail(sql, { intent: { attachment, isRetry }, problem }) {
        if (problemTable[problem.code].final && !isRetry) await attachmentTable.remove(sql, attachment);
      },
      settle: ({ volume, attachment }) => settle(volume, attachment),
    };
  }

  /** UNAVAILABLE, naming it, until the machine that had the node's name before is proved to be without the volume. */
  async function detachFormer(cluster: Cluster, { volumeId, nodeId }: AttachmentRecord): Promise<void> {
    await detachFrom({ cluster, volumeId, nodeId }).catch((error: unknown) => {
      const { name } = readNodeId(nodeId);
      throw unavailableProblem(
        `volume "${volumeId}" cannot be detached yet from node "${nodeId}", which was "${name}" before: ${asProblem(error).detail}`,
        error,
      );
    });
  }

  return {
    /** Attaches the volume to the node, or finds that it is attached and fits; `created` is false then. */
    async attach(
      key: AttachmentKey,
      { capability, readonly: asReadonly }: AttachmentSpec,
    ): Promise<Attached> {
      const { cluster, volumeId, nodeId } = key;
      requireNodeId(nodeId);
      await requireAccess(engine.reader, cluster, volumeId);
      const readonly = asReadonly || isForReaders(capability);
      const asked: AskedAttachment = {
        volumeId,
        cluster: cluster.name,
        nodeId,
        capability,
        readonly,
        state: 'attaching',
        reach: undefined,
        sizeBytes: undefined,
      };
      for (;;) {
        const found = await operations.run(attaching(cluster, asked));
        if (!('former' in found))
          return { ...found, attachment: await signed(found.attachment, signDetached) };
        await detachFormer(cluster, found.former);
      }
    },

    /** Detaches what was begun and never finished; what is attached, or was begun anew, stays. */
    undo: (key: AttachmentKey, { attachmentId }: AttachmentRecord): Promise<void> =>
      detachFrom(key, attachmentId),

    async get({ cluster, volumeId, nodeId }: AttachmentKey): Promise<AttachmentResource> {
      await requireAccess(engine.reader, cluster, volumeId);
      const volume = await findVolume(engine.reader, volumeId);
      const key = { volumeId, cluster: cluster.name, nodeId };
      const found = await attachmentTable.find(engine.reader, key);
      if (found && volume) return signed(toResource(found, volume), signDetached);
      throw new Problem('NOT_FOUND', `volume "${volumeId}" is not attached to node "${nodeId}"`);
    },

    /** Detaches the volume from the node, or one after the other from all without `nodeId`; what is not attached is fine. */
    async detach({ nodeId, ...key }: DetachKey): Promise<void> {
      if (!(await hasAccess(engine.reader, key.cluster, key.volumeId))) return;
      if (nodeId !== undefined) return detachFrom({ ...key, nodeId });
      const attachments = await findAttachments(engine.reader, key.volumeId);
      for (const one of attachments.filter(({ cluster }) => cluster === key.cluster.name))
        await detachFrom({ ...key, nodeId: one.nodeId });
    },
  };
}

type DetachKey = Omit<AttachmentKey, 'nodeId'> & { readonly nodeId?: string | undefined };
