import { toPrintable } from '../../../src/api/http/printable.ts';
import { preconditionProblem, Problem, unavailableProblem } from '../../../src/api/problem.ts';
import type { BlockPage, Snapshot } from '../../../src/api/snapshot.ts';
import {
  memberIdOf,
  type Backend,
  type Changes,
  type CreatedSnapshot,
  type Extent,
  type KnownSnapshot,
  type NewSnapshot,
  type SnapshotRef,
} from '../../backend.ts';
import { toParameters } from './parameters.ts';
import type { Storage } from './storage.ts';

/** A snapshot at the storage, or the group that contains it. `ownId` is the gateway's id of the snapshot. */
type VendorSnapshot =
  | { readonly ownId: string; readonly snapshotId: string }
  | { readonly ownId: string; readonly groupId: string };

/**
 * Creates the snapshot members. Members that the storage does not offer are absent. A member of a group is found by
 * its position in the group, which never changes.
 */
export function createSnapshots(storage: Storage): Pick<Backend, 'snapshots' | 'changes'> {
  const { vendor, names, offer, has } = storage;
  if (!has('snapshots')) return {};

  async function* list(signal?: AbortSignal): AsyncIterable<VendorSnapshot> {
    const groups = new Set<string>();
    for await (const { id, name, groupId } of listSnapshots(storage, signal)) {
      if (groupId === undefined && names.isOf(id, name)) yield { ownId: name, snapshotId: id };
      if (groupId !== undefined && names.isOurs(groupId)) groups.add(groupId);
    }
    const checkPage = storage.startList(signal);
    for (const groupId of groups) {
      checkPage(1, groupId);
      const group = await vendor.ask('getGroup', { groupId }).catch(noGroup);
      if (!group || !names.isOf(groupId, group.name)) continue;
      for (const member of group.snapshots.keys())
        yield { ownId: memberIdOf(group.name, names.nonceOf(groupId), member), groupId };
    }
  }

  async function find({ id, nonce = '', group }: SnapshotRef): Promise<readonly VendorSnapshot[]> {
    if (nonce !== '')
      return group
        ? [{ ownId: id, groupId: names.idOf({ id: group.id, nonce }) }]
        : [{ ownId: id, snapshotId: names.idOf({ id, nonce }) }];
    return (await Array.fromAsync(list())).filter(({ ownId }) => ownId === id);
  }

  return {
    snapshots: {
      parameters: toParameters(offer.parameters?.snapshot, 'snapshot'),
      async create({ id, nonce, volume, parameters }) {
        const volumeId = await storage.requireId(volume);
        const body = { name: id, volumeId, parameters: { ...parameters } };
        return toCreated(await vendor.ask('createSnapshot', { snapshotId: names.idOf({ id, nonce }), body }));
      },
      async delete(snapshot) {
        for (const found of await find(snapshot))
          if ('groupId' in found) await vendor.ask('deleteGroup', found);
          else await vendor.ask('deleteSnapshot', found);
      },
      async *list(signal) {
        for await (const { ownId } of list(signal)) yield ownId;
      },
      ...(has('groups') && { createGroup: members => createGroup(storage, members) }),
    },
    ...(has('changes') && { changes: createChanges(storage) }),
  };
}

function listSnapshots({ vendor, readPages }: Storage, signal?: AbortSignal): AsyncIterable<Snapshot> {
  return readPages(async page => {
    const { snapshots: entries, nextPageToken } = await vendor.ask('listSnapshots', page);
    return { entries, nextPageToken };
  }, signal);
}

/**
 * Returns no group for NOT_FOUND: the group was deleted after its snapshots were listed. Throws any other error
 * again.
 */
function noGroup(error: unknown): undefined {
  if (!(error instanceof Problem && error.code === 'NOT_FOUND')) throw error;
}

async function createGroup(
  { vendor, names, requireId }: Storage,
  members: readonly NewSnapshot[],
): Promise<readonly CreatedSnapshot[]> {
  const [first] = members;
  if (!first?.group) throw preconditionProblem('these snapshots belong to no group');
  const { nonce, group, parameters } = first;
  const volumeIds: string[] = [];
  for (const { volume } of members) volumeIds.push(await requireId(volume));
  const groupId = names.idOf({ id: group.id, nonce });
  const body = { name: group.id, volumeIds, parameters: { ...parameters } };
  const { snapshots } = await vendor.ask('createGroup', { groupId, body });
  const misplaced = snapshots.findIndex(({ volumeId }, index) => volumeId !== volumeIds[index]);
  if (misplaced >= 0)
    throw unavailableProblem(
      `the storage returned the snapshots of group "${group.id}" in another order, from index ${misplaced} on`,
    );
  return snapshots.map(toCreated);
}

function toCreated({ id, sizeBytes, createdAt, state }: Snapshot): CreatedSnapshot {
  const createdAtMs = Date.parse(createdAt);
  if (Number.isNaN(createdAtMs))
    throw unavailableProblem(
      `the storage reports ${toPrintable(JSON.stringify(createdAt), 64)} as the time of snapshot "${id}", which is not an ISO 8601 time`,
    );
  return { sizeBytes, createdAtMs, ready: state === 'ready' };
}

function createChanges({ vendor, requireSnapshotId, startList }: Storage): Changes {
  async function* read(
    target: KnownSnapshot,
    { base, fromOffset }: { readonly base?: KnownSnapshot; readonly fromOffset: number },
  ): AsyncIterable<Extent> {
    const snapshotId = await requireSnapshotId(target);
    const baseId = base && (await requireSnapshotId(base));
    const checkPage = startList();
    for (let offset: number | undefined = fromOffset; offset !== undefined;) {
      const page: BlockPage = await vendor.ask('listBlocks', {
        snapshotId,
        offset,
        ...(baseId !== undefined && { base: baseId }),
      });
      yield* page.blocks;
      offset = page.nextOffset;
      checkPage(page.blocks.length, offset?.toString());
    }
  }
  return {
    allocated: (snapshot, fromOffset) => read(snapshot, { fromOffset }),
    changed: ({ base, target }, fromOffset) => read(target, { base, fromOffset }),
  };
}
