import type { Deletion, Detachment, SnapshotDeletion } from '../../src/api/admin.ts';
import { clusterOf, readNodeId } from '../../src/api/ids.ts';
import type { Operations as Rows, Request } from '../../src/api/operations.ts';
import { Problem } from '../../src/api/problem.ts';
import { canCutOff, requireDetachable } from '../attachments/cut-off.ts';
import type { Operations } from '../operations/operation.ts';
import type { Pools } from '../pools/pools.ts';
import type { Services } from '../services.ts';
import type { Engine, Reader } from '../store.ts';
import { findAttachments, type ShownAttachment } from '../tables/attachments.ts';
import { readMissed } from '../tables/clock.ts';
import { findAtStorage, findVolume, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import { notFoundProblem } from '../callers/ownership.ts';
import { createDrain } from './drain.ts';
import { restorableUntil, toVolumeRef } from '../volumes/record.ts';

export type ActionOptions = Pick<Services, 'attachments' | 'groups' | 'snapshots' | 'volumes'> & {
  readonly pools: Pools;
  readonly engine: Engine;
  readonly operations: Operations;
};

type DetachRequest = Request<Rows['detachAdminVolume']>;

/** Creates the operations of operators that detach and delete in place of clusters, and drain pools. */
export function createActions(options: ActionOptions) {
  const { engine, operations, pools, attachments, groups, snapshots, volumes } = options;
  const { reader } = engine;
  const drain = createDrain({ engine, operations, pools });

  async function findRestorable(id: string): Promise<Deletion | undefined> {
    const volume = await volumeTable.find(reader, { id });
    if (volume?.state !== 'deleted') return undefined;
    const until = restorableUntil(volume, await readMissed(reader)) ?? 0;
    return { outcome: 'soft-deleted', restorableUntil: new Date(until).toISOString() };
  }

  return {
    /**
     * Returns once no chosen node can reach the volume any more, or says that the pool cannot cut nodes off. Every refusal comes before anything is detached, except
     * for a node that comes back meanwhile. After a failure or crash, the same call continues.
     */
    async detachAdminVolume(request: DetachRequest): Promise<Detachment> {
      const { volumeId, body } = request;
      const plan = (sql: Reader): Promise<Plan> => planDetachment(sql, request, pools);
      const logged = { operation: 'detach', kind: 'volume', id: volumeId, about: body.nodeId } as const;
      const planned = body.dryRun
        ? await plan(reader)
        : await operations.change(logged, async sql => {
            await sql.lock('volume', volumeId);
            return { result: await plan(sql), isChanged: false };
          });
      const only = body.force ? undefined : 'unused';
      for (const { cluster: name, nodeId, attachmentId } of body.dryRun ? [] : planned.chosen)
        await attachments.detachChosen(
          { cluster: { name, acceptAnyNode: true }, volumeId, nodeId },
          { attachmentId, only },
        );
      return {
        isCutOff: planned.isCutOff,
        attachments: planned.chosen.map(({ cluster, nodeId, state, readonly }) => ({
          cluster,
          nodeId,
          state,
          readonly,
        })),
      };
    },

    drainPool: ({ pool, body }: Request<Rows['drainPool']>) => drain({ pool, ...body }),

    /** Deletes the volume for its cluster. A volume that is soft-deleted already stays restorable. */
    async deleteAdminVolume({
      volumeId,
      body: { dryRun },
    }: Request<Rows['deleteAdminVolume']>): Promise<Deletion> {
      const known = await findRestorable(volumeId);
      if (known) return known;
      if (dryRun) return { outcome: await volumes.foreseeDeletion({ id: volumeId }) };
      const volume = await findVolume(reader, volumeId);
      if (!volume) return { outcome: 'missing' };
      await volumes.delete({ name: volume.cluster, acceptAnyNode: true }, volumeId);
      const deletion = await findRestorable(volumeId);
      if (!deletion) await requireNotMoved(reader, volume);
      return deletion ?? { outcome: 'deleted' };
    },

    deleteAdminSnapshot: ({ snapshotId, body }: Request<Rows['deleteAdminSnapshot']>) =>
      deleteSnapshots(snapshots, snapshotId, body),
    deleteAdminGroup: ({ groupId, body }: Request<Rows['deleteAdminGroup']>) =>
      deleteSnapshots(groups, groupId, body),
  };
}

/** Deletes the snapshot, or the group with its members, for its cluster. */
async function deleteSnapshots(
  service: Pick<Services['snapshots'], 'delete' | 'foreseeDeletion'>,
  id: string,
  { dryRun }: { readonly dryRun: boolean },
): Promise<SnapshotDeletion> {
  const found = await service.foreseeDeletion(id);
  if (!dryRun && found.length > 0)
    await service.delete({ name: clusterOf(id) ?? '', acceptAnyNode: true }, id);
  return { snapshots: [...found] };
}

/** Throws ABORTED if the volume was transferred before it could be deleted. */
async function requireNotMoved(sql: Reader, before: VolumeRecord): Promise<void> {
  const now = await findAtStorage(sql, toVolumeRef(before).id);
  if (now?.nonce !== before.nonce) return;
  throw new Problem(
    'ABORTED',
    `volume "${before.id}" was not deleted: it was transferred to cluster "${now.cluster}" meanwhile, as "${now.id}"`,
  );
}

type Plan = { readonly chosen: readonly ShownAttachment[]; readonly isCutOff: boolean };

/** Finds the chosen attachments. Without `force`, each must be detachable (see `requireDetachable`). */
async function planDetachment(
  sql: Reader,
  { volumeId, body: { nodeId, cluster, force } }: DetachRequest,
  pools: Pools,
): Promise<Plan> {
  const volume = await findVolume(sql, volumeId);
  if (!volume) throw notFoundProblem({ kind: 'volume', id: volumeId });
  const isChosen = (one: ShownAttachment): boolean =>
    nodeId === undefined || [one.nodeId, readNodeId(one.nodeId).name].includes(nodeId);
  const chosen = (await findAttachments(sql, volumeId, cluster)).filter(isChosen);
  const pool = pools.get(volume.pool);
  for (const attachment of force ? [] : chosen) await requireDetachable(sql, pool, { volume, attachment });
  return { chosen, isCutOff: canCutOff(pool) };
}
