import type { RetirementStep } from '../../../src/api/admin.ts';
import type { Operations as Rows, Request } from '../../../src/api/operations.ts';
import { Problem } from '../../../src/api/problem.ts';
import { isKnownToCutOff } from '../../attachments/cut-off.ts';
import type { Cluster } from '../../callers/cluster.ts';
import type { Services } from '../../services.ts';
import type { Transfers } from '../../sharing/transfer.ts';
import {
  attachmentTable,
  findAttachments,
  type AttachmentRecord,
  type ShownAttachment,
} from '../../tables/attachments.ts';
import { nodeTable, type NodeRecord } from '../../tables/nodes.ts';
import { readAllInPieces } from '../../tables/paging.ts';
import { type SnapshotRecord, snapshotTable } from '../../tables/snapshots.ts';
import { findVolume, type VolumeRecord, volumeTable } from '../../tables/volumes.ts';
import type { ListingOptions } from '../state.ts';

export type StepOptions = Pick<ListingOptions, 'engine' | 'pools' | 'slices'> &
  Pick<Services, 'attachments' | 'groups' | 'nodes' | 'snapshots' | 'volumes'>;

/** Finds the entry of a cluster that gets volumes. */
export type Destination = (name: string) => Cluster;

export type RetireRequest = Request<Rows['retireCluster']>;

/** One step of a retirement: shows why it is not possible, or takes it. */
type Action = Omit<RetirementStep, 'outcome' | 'note'> & {
  /** Throws the reason why the step is not possible. */
  readonly foresee: () => Promise<unknown>;
  readonly take: () => Promise<unknown>;
};

/** The next nodes by id. */
const nodesAfter = 'and node_id > ? order by node_id limit ?';
/** The next volumes that are not soft-deleted, as their index has them. */
const undeletedAfter = "and state <> 'deleted' and id > ? order by id limit ?";
/** The next snapshots that have been taken, as their index has them. */
const takenAfter = "and state in ('processing', 'ready') and id > ? order by id limit ?";

const doNothing = async (): Promise<void> => {};

/** Creates the list of the steps of a retirement. */
export function createSteps(options: StepOptions, transfers: Transfers, requireCluster: Destination) {
  const { engine, pools, slices, attachments, groups, nodes, snapshots, volumes } = options;
  const { reader } = engine;

  const inSlice = <T>(piece: () => Promise<T>): Promise<T> => slices.take('operator', piece);

  async function detachment({ volumeId, nodeId, cluster }: ShownAttachment, force: boolean): Promise<Action> {
    const volume = await inSlice(() => findVolume(reader, volumeId));
    const isCutOff = !volume || isKnownToCutOff(pools, volume.pool);
    const key = { cluster: { name: cluster, acceptAnyNode: true }, volumeId, nodeId };
    const foresee = async (): Promise<void> => {
      if (!force)
        throw new Problem(
          'FAILED_PRECONDITION',
          'delete the pods that use it, or retire the cluster by force',
        );
    };
    return {
      kind: 'attachment',
      id: `${volumeId}/${cluster}/${nodeId}`,
      action: 'detach',
      ...(!isCutOff && { isCutOff }),
      foresee,
      take: () => foresee().then(() => attachments.detach(key)),
    };
  }

  function forSnapshots({ id, cluster, groupId }: SnapshotRecord, body: RetireRequest['body']): Action {
    const common =
      groupId === undefined ? ({ kind: 'snapshot', id } as const) : ({ kind: 'group', id: groupId } as const);
    if (body.snapshots === 'keep') return { ...common, action: 'keep', foresee: doNothing, take: doNothing };
    const service = groupId === undefined ? snapshots : groups;
    return {
      ...common,
      action: 'delete',
      foresee: () => service.foreseeDeletion(common.id),
      take: () => service.delete({ name: cluster, acceptAnyNode: true }, common.id),
    };
  }

  function forVolume({ id, cluster }: VolumeRecord, body: RetireRequest['body']): Action {
    const common = { kind: 'volume', id } as const;
    if (body.volumes === 'transfer') {
      const request = { volumeId: id, to: requireCluster(body.to), mayDetach: body.force };
      return {
        ...common,
        action: 'transfer',
        foresee: () => transfers.foresee(request),
        take: () => transfers.transfer(request),
      };
    }
    if (body.volumes === 'delete')
      return {
        ...common,
        action: 'delete',
        foresee: () => volumes.foreseeDeletion({ id, detached: cluster }),
        take: () => volumes.delete({ name: cluster, acceptAnyNode: true }, id),
      };
    return { ...common, action: 'keep', foresee: doNothing, take: doNothing };
  }

  function removal({ cluster: name, nodeId }: NodeRecord): Action {
    const take = () => nodes.delete({ name, acceptAnyNode: true }, nodeId);
    return { kind: 'node', id: `${name}/${nodeId}`, action: 'remove', foresee: doNothing, take };
  }

  const listOwned = (cluster: string): AsyncGenerator<VolumeRecord, void> =>
    readAllInPieces<VolumeRecord>((last, limit) =>
      inSlice(() => volumeTable.select(reader, { cluster }, undeletedAfter, last?.id ?? '', limit)),
    );

  /** Lists the attachments of the cluster's volumes to the nodes of other clusters. */
  async function* listElsewhere(cluster: string): AsyncGenerator<ShownAttachment, void> {
    for await (const { id, shared } of listOwned(cluster)) {
      const all = shared ? await inSlice(() => findAttachments(reader, id)) : [];
      yield* all.filter(one => one.cluster !== cluster);
    }
  }

  /**
   * Lists the steps: first all detachments, because a volume is deleted only while it is not attached, and snapshots
   * before volumes, because some pools keep a volume that has snapshots.
   */
  return async function* listSteps({ cluster, body }: RetireRequest): AsyncGenerator<Action, void> {
    const attached = readAllInPieces<AttachmentRecord>((last, limit) => {
      const piece = {
        order: ['nodeId', 'volumeId'] as const,
        last: last ?? { nodeId: '', volumeId: '' },
        limit,
      };
      return inSlice(() => attachmentTable.selectAfter(reader, { cluster }, piece));
    });
    for await (const one of attached) yield await detachment(one, body.force);
    // A transfer keeps no attachment.
    if (body.volumes === 'transfer')
      for await (const one of listElsewhere(cluster)) yield await detachment(one, body.force);
    const taken = readAllInPieces<SnapshotRecord>((last, limit) =>
      inSlice(() => snapshotTable.select(reader, { cluster }, takenAfter, last?.id ?? '', limit)),
    );
    // The first member stands for its group.
    for await (const one of taken) if (one.member === 0) yield forSnapshots(one, body);
    for await (const one of listOwned(cluster)) yield forVolume(one, body);
    const reported = readAllInPieces<NodeRecord>((last, limit) =>
      inSlice(() => nodeTable.select(reader, { cluster }, nodesAfter, last?.nodeId ?? '', limit)),
    );
    for await (const one of reported) yield removal(one);
  };
}
