import { preconditionProblem, Problem, unavailableProblem } from '../../../src/api/problem.ts';
import type { BlockPage, Snapshot } from '../../../src/api/snapshot.ts';
import {
  memberIdOf,
  type Changes,
  type CreatedSnapshot,
  type Extent,
  type KnownSnapshot,
  type NewSnapshot,
  type SnapshotRef,
  type Snapshots,
} from '../../backend.ts';
import { toParameters } from './parameters.ts';
import { readPages, requireId as requireVolumeId, type Storage } from './storage.ts';

/** What a storage with snapshots does, whatever of it is offered. */
export type RestSnapshots = {
  readonly snapshots: Omit<Snapshots, 'createGroup' | 'measure'>;
  readonly createGroup: NonNullable<Snapshots['createGroup']>;
  readonly changes: Changes;
  /** The id there of a snapshot; FAILED_PRECONDITION where there is none. */
  requireId(snapshot: SnapshotRef): Promise<string>;
};

/** A snapshot there, or the group that it is a member of; `nearId` is what the gateway calls it. */
type Found =
  | { readonly nearId: string; readonly snapshotId: string }
  | { readonly nearId: string; readonly groupId: string };

/** Makes the snapshots of a storage. A member of a group is found in its group, in which members keep their order. */
export function createSnapshots(storage: Storage): RestSnapshots {
  const { vendor, names, offer } = storage;

  async function* list(): AsyncIterable<Found> {
    const groups = new Set<string>();
    for await (const { id, name, groupId } of listSnapshots(storage)) {
      if (groupId === undefined && names.isOf(id, name)) yield { nearId: name, snapshotId: id };
      if (groupId !== undefined && names.isOurs(groupId)) groups.add(groupId);
    }
    for (const groupId of groups) {
      const group = await vendor.ask('getGroup', { groupId }).catch(noGroup);
      if (!group || !names.isOf(groupId, group.name)) continue;
      for (const member of group.snapshots.keys())
        yield { nearId: memberIdOf(group.name, names.nonceOf(groupId), member), groupId };
    }
  }

  async function requireId({ id, nonce = '', group }: SnapshotRef): Promise<string> {
    const groupId = group && names.idOf({ id: group.id, nonce });
    if (groupId === undefined) return names.idOf({ id, nonce });
    const found = (await vendor.ask('getGroup', { groupId })).snapshots[group?.member ?? 0];
    if (!found) throw preconditionProblem(`the storage has no snapshot "${id}"`);
    return found.id;
  }

  async function find({ id, nonce = '', group }: SnapshotRef): Promise<readonly Found[]> {
    if (nonce !== '')
      return group
        ? [{ nearId: id, groupId: names.idOf({ id: group.id, nonce }) }]
        : [{ nearId: id, snapshotId: names.idOf({ id, nonce }) }];
    return (await Array.fromAsync(list())).filter(({ nearId }) => nearId === id);
  }

  return {
    requireId,
    snapshots: {
      parameters: toParameters(offer.parameters?.snapshot, 'snapshot'),
      async create({ id, nonce, volume, parameters }) {
        const volumeId = await requireVolumeId(storage, volume);
        const body = { name: id, volumeId, parameters: { ...parameters } };
        return toCreated(await vendor.ask('createSnapshot', { snapshotId: names.idOf({ id, nonce }), body }));
      },
      async delete(snapshot) {
        for (const found of await find(snapshot))
          if ('groupId' in found) await vendor.ask('deleteGroup', found);
          else await vendor.ask('deleteSnapshot', found);
      },
      async *list() {
        for await (const { nearId } of list()) yield nearId;
      },
    },
    createGroup: members => createGroup(storage, members),
    changes: createChanges(storage, requireId),
  };
}

async function* listSnapshots({ vendor }: Storage): AsyncIterable<Snapshot> {
  for await (const { snapshots } of readPages(page => vendor.ask('listSnapshots', page))) yield* snapshots;
}

/** A group that was deleted since its snapshots were listed has none. */
function noGroup(error: unknown): undefined {
  if (!(error instanceof Problem && error.code === 'NOT_FOUND')) throw error;
}

async function createGroup(
  storage: Storage,
  members: readonly NewSnapshot[],
): Promise<readonly CreatedSnapshot[]> {
  const [first] = members;
  if (!first?.group) throw preconditionProblem('these snapshots are of no group');
  const { nonce, group, parameters } = first;
  const volumeIds: string[] = [];
  for (const { volume } of members) volumeIds.push(await requireVolumeId(storage, volume));
  const groupId = storage.names.idOf({ id: group.id, nonce });
  const body = { name: group.id, volumeIds, parameters: { ...parameters } };
  const { snapshots } = await storage.vendor.ask('createGroup', { groupId, body });
  const stray = snapshots.findIndex(({ volumeId }, index) => volumeId !== volumeIds[index]);
  if (stray >= 0)
    throw unavailableProblem(`the storage has snapshot ${stray} of group "${group.id}" in another order`);
  return snapshots.map(toCreated);
}

function toCreated({ id, sizeBytes, createdAt, state }: Snapshot): CreatedSnapshot {
  const createdAtMs = Date.parse(createdAt);
  if (Number.isNaN(createdAtMs))
    throw unavailableProblem(`the storage took snapshot "${id}" at "${createdAt}", which is no time`);
  return { sizeBytes, createdAtMs, ready: state === 'ready' };
}

function createChanges({ vendor }: Storage, requireId: RestSnapshots['requireId']): Changes {
  async function* read(
    target: KnownSnapshot,
    { base, fromOffset }: { readonly base?: KnownSnapshot; readonly fromOffset: number },
  ): AsyncIterable<Extent> {
    const snapshotId = await requireId(target);
    const baseId = base && (await requireId(base));
    for (let offset: number | undefined = fromOffset; offset !== undefined;) {
      const page: BlockPage = await vendor.ask('listBlocks', {
        snapshotId,
        offset,
        ...(baseId !== undefined && { base: baseId }),
      });
      yield* page.blocks;
      offset = page.nextOffset;
    }
  }
  return {
    allocated: (snapshot, fromOffset) => read(snapshot, { fromOffset }),
    changed: ({ base, target }, fromOffset) => read(target, { base, fromOffset }),
  };
}
