import type { Reach } from '../../src/api/attachment.ts';
import { encryptionOf } from '../../src/api/filesystems.ts';
import type { AttachmentResource, AttachmentSpec } from '../../src/api/node.ts';
import { Problem, problemTable } from '../../src/api/problem.ts';
import { isForReaders } from '../../src/api/storage.ts';
import type { IntendResult, Operation } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Sql } from '../store.ts';
import {
  addAttachment,
  type AttachmentRecord,
  attachmentTable,
  countAttachments,
  findAttachments,
  findDecisiveAttachments,
  findNextTime,
  findUnderOtherKey,
  noteAttachmentTime,
  removeAttachment,
} from '../tables/attachments.ts';
import { requireInService } from '../tables/closures.ts';
import { nodeTable } from '../tables/nodes.ts';
import { findVolume, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import type { Cluster } from '../callers/cluster.ts';
import { requireAccess, requireGranted } from '../callers/access.ts';
import { requireRecordSize } from '../tables/record-size.ts';
import { requireReadyVolume } from '../volumes/record.ts';
import { requireCapabilities } from '../volumes/validate.ts';
import { requireShareable } from './access-modes.ts';
import { requireAdmission, requireNode, requireOneKey } from './admission.ts';
import { clearGone, lockNode, requireGone, requireNodeId } from './nodes.ts';
import {
  type AttachRequest,
  type ReportedNode,
  groupByNode,
  replayRight,
  toAccess,
  isUsedRaw,
  nodePart,
  newAttachmentId,
  requireFew,
  requireSame,
  toResource,
} from './record.ts';
import { seal } from './sealing.ts';
import { signed } from './signing.ts';
import { createStorageSide } from './storage-side.ts';
import { chooseTurn, noTurn, warnWithoutTurn } from './trim-turns.ts';

type AttachmentKey = {
  readonly cluster: Cluster;
  readonly volumeId: string;
  readonly nodeId: string;
};

type AttachIntent = ReportedNode & {
  readonly volume: VolumeRecord;
  readonly attachment: AttachmentRecord;
  /** See `NodeAccess`. */
  readonly mayReplay?: true;
  /** An earlier call recorded this attachment. Only without one does a final failure remove the record. */
  readonly isRetry: boolean;
};
type AttachResult = { readonly attachment: AttachmentResource; readonly created: boolean };
/**
 * The attachment to detach; a newer one of the same node stays. `unfinished`: a complete one stays, too. `unused`:
 * FAILED_PRECONDITION while a pod may use it (see `requireGone`).
 */
type ChosenAttachment = {
  readonly attachmentId: string;
  readonly only?: 'unfinished' | 'unused' | undefined;
};
type DetachIntent = { readonly volume: VolumeRecord; readonly before: AttachmentRecord };

/** Creates the attachments of volumes to nodes. A cluster sees and changes only attachments to its own nodes. */
export function createAttachments({ engine, pools, operations, signDetached, log }: ServiceOptions) {
  const { attachIn, detachIn, settle } = createStorageSide(pools);

  async function intendAttach(
    sql: Sql,
    cluster: Cluster,
    request: AttachRequest,
  ): Promise<IntendResult<AttachIntent, AttachResult>> {
    const { volumeId, nodeId } = request;
    await lockNode(sql, request);
    const [volume, reported, attachments, grant, time, otherKey, counts] = await Promise.all([
      requireReadyVolume(sql, volumeId),
      nodeTable.find(sql, request),
      findDecisiveAttachments(sql, request),
      requireAccess(sql, cluster, volumeId),
      findNextTime(sql, volumeId),
      findUnderOtherKey(sql, request),
      countAttachments(sql, request),
      requireInService(sql, cluster.name, nodeId),
    ]);
    const { parameters } = volume.spec;
    requireCapabilities(pools.get(volume.pool), [request.capability], { isNew: false, parameters });
    if (grant) requireGranted(grant, request.readonly);
    const node = requireNode(cluster, nodeId, reported?.spec);
    await clearGone(sql, reported);
    const { before, others } = groupByNode(attachments, request);
    if (before && before.state !== 'detaching') requireSame(before, request);
    if (before?.state === 'attached')
      return { result: { attachment: toResource(before, volume), created: false } };
    if (!before) requireOneKey(request, otherKey);
    if (!before) requireFew(counts, request);
    requireShareable(others, request);
    // An attachment in progress was admitted before. One that is being detached has no right to come back
    // before others.
    const isInProgress = before?.state === 'attaching';
    if (!isInProgress) await requireAdmission(sql, { volume, cluster, nodeId, node });
    const attachmentId = newAttachmentId(time.seenMs);
    const attachment = isInProgress
      ? before
      : { ...request, ...(await chooseTurn(sql, { volume, before }, request)), attachmentId };
    if (!isInProgress) await noteAttachmentTime(sql, time);
    await (before ? attachmentTable.replace(sql, attachment) : addAttachment(sql, attachment));
    const replaying = replayRight(request, { grant, others });
    return { intent: { volume, attachment, node, isRetry: before !== undefined, ...replaying } };
  }

  async function detachFrom(
    { cluster: { name: cluster }, volumeId, nodeId }: AttachmentKey,
    chosen?: ChosenAttachment,
  ): Promise<void> {
    const key = { cluster, volumeId, nodeId };
    await operations.run<DetachIntent, void, void>({
      operation: 'detach',
      subject: { cluster, nodeId, chosen },
      part: nodePart(key),
      about: nodeId,
      claims: [{ kind: 'volume', id: volumeId }],
      pool: ({ volume }) => volume.pool,
      async intend(sql) {
        if (chosen?.only === 'unused') await lockNode(sql, key);
        const [volume, before] = await Promise.all([
          findVolume(sql, volumeId),
          attachmentTable.find(sql, key),
        ]);
        if (!volume || !before || isLeft(before, chosen)) return { result: undefined };
        requireNoNewer(before, chosen);
        if (chosen?.only === 'unused') await requireGone(sql, before);
        await attachmentTable.update(sql, before, { state: 'detaching' });
        return { intent: { volume, before } };
      },
      act: ({ volume, before }) => detachIn(volume, before),
      async succeed(sql, { intent: { before } }) {
        await removeAttachment(sql, before);
      },
      async fail(sql, { intent, problem }) {
        // The caller learns that the volume is still attached. After any other failure, a retry continues.
        if (problem.code === 'FAILED_PRECONDITION') await attachmentTable.replace(sql, intent.before);
      },
      settle: ({ volume, before }) => settle(volume, before),
    });
  }

  /**
   * Answers without waiting in the volume's queue. An attach that waits is not recorded yet, and one that
   * ends meanwhile is.
   */
  async function isDetached({
    cluster: { name: cluster },
    volumeId,
    nodeId,
  }: AttachmentKey): Promise<boolean> {
    const key = { cluster, volumeId, nodeId };
    if (operations.isActive({ kind: 'volume', id: volumeId }, nodePart(key))) return false;
    return (await attachmentTable.find(engine.reader, key)) === undefined;
  }

  const attachSealed = async (intent: AttachIntent): Promise<Reach> => {
    const { volume, attachment, node, mayReplay } = intent;
    if (!intent.isRetry) warnWithoutTurn(log, volume, attachment);
    const access = toAccess(attachment, { volume, node, mayReplay });
    const reach = await attachIn(volume, access);
    const encryption = encryptionOf(volume.spec.parameters);
    return seal(reach, { ...attachment, encryption }).catch(async (error: unknown) => {
      await detachIn(volume, attachment);
      throw error;
    });
  };

  function attachOperation(
    cluster: Cluster,
    request: AttachRequest,
  ): Operation<AttachIntent, Reach, AttachResult> {
    const { volumeId, nodeId, capability, readonly } = request;
    return {
      operation: 'attach',
      subject: { cluster: cluster.name, nodeId, capability, readonly },
      part: nodePart(request),
      about: nodeId,
      claims: [{ kind: 'volume', id: volumeId }],
      pool: ({ volume }) => volume.pool,
      intend: sql => intendAttach(sql, cluster, request),
      act: attachSealed,
      async succeed(sql, { intent: { volume, attachment }, effect: reach }) {
        const usedRaw = isUsedRaw(volume, attachment);
        if (usedRaw !== volume.usedRaw) await volumeTable.update(sql, volume, { usedRaw });
        const ofReach = { reach, sizeBytes: volume.sizeBytes, ...(reach.protocol === 'csi' && noTurn) };
        const attached = { state: 'attached', ...ofReach } as const;
        await attachmentTable.update(sql, attachment, attached);
        return { attachment: toResource({ ...attachment, ...attached }, volume), created: true };
      },
      async fail(sql, { intent: { attachment, isRetry }, problem }) {
        if (problemTable[problem.code].final && !isRetry) await removeAttachment(sql, attachment);
      },
      settle: ({ volume, attachment }) => settle(volume, attachment),
    };
  }

  return {
    /** Attaches the volume to the node, or finds a fitting attachment; `created` is false for an existing one. */
    async attach(
      key: AttachmentKey,
      { capability, readonly: readonlyGiven }: AttachmentSpec,
    ): Promise<AttachResult> {
      const { cluster, volumeId, nodeId } = key;
      requireNodeId(nodeId);
      await requireAccess(engine.reader, cluster, volumeId);
      const readonly = readonlyGiven || isForReaders(capability);
      const request: AttachRequest = {
        volumeId,
        cluster: cluster.name,
        nodeId,
        capability,
        readonly,
        state: 'attaching',
        reach: undefined,
        sizeBytes: undefined,
        ...noTurn,
      };
      requireRecordSize(`the attachment of volume "${volumeId}"`, request);
      const found = await operations.run(attachOperation(cluster, request));
      return { ...found, attachment: await signed(found.attachment, signDetached) };
    },

    /** Detaches an unfinished attachment. A complete one stays, and so does a newer one. */
    undo: (key: AttachmentKey, { attachmentId }: AttachmentRecord): Promise<void> =>
      detachFrom(key, { attachmentId, only: 'unfinished' }),

    /** Detaches this attachment. ABORTED if the volume was attached to the same node again. */
    detachChosen: (key: AttachmentKey, chosen: ChosenAttachment): Promise<void> => detachFrom(key, chosen),

    async get({ cluster, volumeId, nodeId }: AttachmentKey): Promise<AttachmentResource> {
      await requireAccess(engine.reader, cluster, volumeId);
      const volume = await findVolume(engine.reader, volumeId);
      const key = { volumeId, cluster: cluster.name, nodeId };
      const found = await attachmentTable.find(engine.reader, key);
      if (found && volume) return signed(toResource(found, volume), signDetached);
      throw new Problem('NOT_FOUND', `volume "${volumeId}" is not attached to node "${nodeId}"`);
    },

    /** Tells storages that enforce the limits of I/O on attached volumes the volume's present ones. */
    async renewLimits(volumeId: string): Promise<void> {
      for (const { cluster, nodeId } of await findAttachments(engine.reader, volumeId)) {
        const attachment = await attachmentTable.find(engine.reader, { cluster, volumeId, nodeId });
        const volume = attachment?.reach?.limitsIo && (await findVolume(engine.reader, volumeId));
        if (volume) await operations.run(settle(volume, attachment));
      }
    },

    /**
     * Detaches the volume from the node, or without `nodeId` from all nodes one by one. If it is not
     * attached, nothing happens.
     */
    async detach({ nodeId, ...key }: DetachKey): Promise<void> {
      // No grant is needed to detach: a cluster that does not accept the owner's volumes any more can still
      // detach them.
      if (nodeId !== undefined) {
        if (!(await isDetached({ ...key, nodeId }))) await detachFrom({ ...key, nodeId });
        return;
      }
      for (const one of await findAttachments(engine.reader, key.volumeId, key.cluster.name))
        await detachFrom({ ...key, nodeId: one.nodeId });
    },
  };
}

function isLeft(before: AttachmentRecord, chosen: ChosenAttachment | undefined): boolean {
  if (chosen?.only !== 'unfinished') return false;
  return before.attachmentId !== chosen.attachmentId || before.state === 'attached';
}

function requireNoNewer(
  { attachmentId, volumeId, nodeId }: AttachmentRecord,
  chosen: ChosenAttachment | undefined,
): void {
  if (!chosen || attachmentId === chosen.attachmentId) return;
  throw new Problem(
    'ABORTED',
    `volume "${volumeId}" was attached to node "${nodeId}" again meanwhile; try again`,
  );
}

type DetachKey = Omit<AttachmentKey, 'nodeId'> & { readonly nodeId?: string | undefined };
