import { Problem } from '../../src/api/problem.ts';
import type { Group, Snapshot } from '../../src/api/snapshot.ts';
import { formatSegments } from '../../src/api/topology.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Snapshots as BackendSnapshots } from '../backend.ts';
import { requireOffered } from '../pools/features.ts';
import type { Pool, Pools } from '../pools/pools.ts';
import type { Reader, Sql } from '../store.ts';
import { removeCopyGrants } from '../tables/copy-grants.ts';
import { type GroupRecord, groupTable } from '../tables/groups.ts';
import { moveReservation } from '../tables/reservations.ts';
import { findMembers, type SnapshotRecord, snapshotTable, toSnapshotRef } from '../tables/snapshots.ts';
import type { VolumeRecord } from '../tables/volumes.ts';
import { meets, type Requirement } from '../volumes/placement.ts';

export type Ref = { readonly kind: 'snapshot' | 'group'; readonly id: string };

/** The record of a group with its members, or of a snapshot, which is its own only member. */
export type SnapshotSet = { readonly subject: GroupRecord; readonly members: readonly SnapshotRecord[] };

export async function findSnapshotSet(sql: Reader, { kind, id }: Ref): Promise<SnapshotSet | undefined> {
  if (kind === 'group') {
    const group = await groupTable.find(sql, { id });
    return group && { subject: group, members: await findMembers(sql, id) };
  }
  const snapshot = await snapshotTable.find(sql, { id });
  return snapshot && { subject: snapshot, members: [snapshot] };
}

/**
 * Makes the first record of a snapshot, in the pool and the topology of its volume. It reserves the volume's
 * size, unless `reservedBytes` is given.
 */
export function newSnapshotRecord(
  request: Pick<SnapshotRecord, 'id' | 'cluster' | 'name' | 'volumeId' | 'parameters'>,
  volume: Pick<VolumeRecord, 'pool' | 'segments' | 'sizeBytes'>,
  given: Partial<
    Pick<SnapshotRecord, 'groupId' | 'member' | 'nonce' | 'reservedBytes' | 'encryption' | 'filesystem'>
  > = {},
): SnapshotRecord {
  return {
    ...request,
    nonce: given.nonce ?? crypto.randomUUID(),
    pool: volume.pool,
    segments: volume.segments,
    encryption: given.encryption,
    filesystem: given.filesystem,
    groupId: given.groupId,
    member: given.member ?? 0,
    state: 'creating',
    sizeBytes: 0,
    reservedBytes: given.reservedBytes ?? volume.sizeBytes,
    createdAtMs: Date.now(),
  };
}

export function requireSnapshots(pool: Pool, kind: Ref['kind']): BackendSnapshots {
  const snapshots = requireOffered(pool, pool.backend.snapshots, 'snapshots');
  if (kind === 'group') requireOffered(pool, snapshots.createGroup, 'groups of snapshots');
  return snapshots;
}

export async function deleteAll(pools: Pools, members: readonly SnapshotRecord[]): Promise<void> {
  for (const member of members)
    await requireSnapshots(pools.get(member.pool), 'snapshot').delete(toSnapshotRef(member));
}

export async function forget(sql: Sql, { kind, id }: Ref, { members }: SnapshotSet): Promise<void> {
  for (const member of members) {
    await moveReservation(sql, member, undefined);
    await snapshotTable.remove(sql, member);
    await removeCopyGrants(sql, { kind: 'snapshot', id: member.id });
  }
  if (kind === 'group') await groupTable.remove(sql, { id });
}

/** Throws ALREADY_EXISTS when the record differs from the request. The order of the volumes does not matter. */
export function requireSame(
  { kind, id }: Ref,
  { subject, members }: SnapshotSet,
  request: Pick<GroupRecord, 'name' | 'parameters'> & {
    readonly volumeIds: readonly string[];
    readonly requirement: Requirement;
  },
): void {
  const groupId = kind === 'snapshot' ? members[0]?.groupId : undefined;
  const volumeIds = members.map(({ volumeId }) => volumeId);
  const stray = members.find(({ segments }) => !meets(segments, request.requirement));
  if (subject.state === 'deleting' && groupId === undefined)
    throw new Problem('ABORTED', `${kind} "${id}" is being deleted; try again`);
  const differences = [
    [groupId === undefined, `as a member of group "${groupId}"`],
    [subject.name === request.name, `with the name "${subject.name}"`],
    [
      sameJson(volumeIds.toSorted(), request.volumeIds.toSorted()),
      `of volume ${volumeIds.map(one => `"${one}"`).join(', ')}`,
    ],
    [sameJson(subject.parameters, request.parameters), 'with other parameters'],
    [!stray, `in "${formatSegments(stray?.segments ?? {})}", which is not a requested topology`],
  ] as const;
  const difference = differences.find(([isSame]) => !isSame);
  if (difference) throw new Problem('ALREADY_EXISTS', `${kind} "${id}" already exists ${difference[1]}`);
}

export function toSnapshot(record: SnapshotRecord): Snapshot {
  const { id, name, pool, volumeId, groupId, state, sizeBytes, createdAtMs, segments } = record;
  return {
    id,
    name,
    pool,
    volumeId,
    ...(groupId !== undefined && { groupId }),
    state,
    sizeBytes,
    createdAt: new Date(createdAtMs).toISOString(),
    ...(segments && { topology: [segments] }),
  };
}

export function toGroup({ subject, members }: SnapshotSet): Group {
  const { id, name, state, createdAtMs } = subject;
  const createdAt = new Date(createdAtMs).toISOString();
  return { id, name, state, snapshots: members.map(toSnapshot), createdAt };
}
