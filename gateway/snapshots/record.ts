import { Problem } from '../../src/api/problem.ts';
import type { Group, Snapshot } from '../../src/api/snapshot.ts';
import { formatSegments } from '../../src/api/topology.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { KnownSnapshot, Snapshots as BackendSnapshots } from '../backend.ts';
import { requireOffered } from '../pools/features.ts';
import type { Pool, Pools } from '../pools/pools.ts';
import type { Reader, Sql } from '../store.ts';
import { type GroupRecord, groupTable } from '../tables/groups.ts';
import { moveReservation } from '../tables/reservations.ts';
import { findMembers, type SnapshotRecord, snapshotTable } from '../tables/snapshots.ts';
import type { VolumeRecord } from '../tables/volumes.ts';
import { meets, type Requirement } from '../volumes/placement.ts';

/** Names a snapshot of its own, or a group. */
export type Ref = { readonly kind: 'snapshot' | 'group'; readonly id: string };

/** A snapshot, which is its only member, or a group with all of them. */
export type Recorded = { readonly subject: GroupRecord; readonly members: readonly SnapshotRecord[] };

/** What is recorded of the snapshot or group. */
export async function findRecorded(sql: Reader, { kind, id }: Ref): Promise<Recorded | undefined> {
  if (kind === 'group') {
    const group = await groupTable.find(sql, { id });
    return group && { subject: group, members: await findMembers(sql, id) };
  }
  const snapshot = await snapshotTable.find(sql, { id });
  return snapshot && { subject: snapshot, members: [snapshot] };
}

/** A snapshot as it is recorded at first, in the pool and the topology of its volume; it takes as much, unless given. */
export function newSnapshotRecord(
  asked: Pick<SnapshotRecord, 'id' | 'cluster' | 'name' | 'volumeId' | 'parameters'>,
  volume: Pick<VolumeRecord, 'pool' | 'segments' | 'sizeBytes'>,
  given: Partial<Pick<SnapshotRecord, 'groupId' | 'member' | 'nonce' | 'reservedBytes' | 'encryption'>> = {},
): SnapshotRecord {
  return {
    ...asked,
    nonce: given.nonce ?? crypto.randomUUID(),
    pool: volume.pool,
    segments: volume.segments,
    encryption: given.encryption,
    groupId: given.groupId,
    member: given.member ?? 0,
    state: 'creating',
    sizeBytes: 0,
    reservedBytes: given.reservedBytes ?? volume.sizeBytes,
    createdAtMs: Date.now(),
  };
}

/** The snapshots of the pool, or UNIMPLEMENTED when it has none of the kind. */
export function requireSnapshots(pool: Pool, kind: Ref['kind']): BackendSnapshots {
  const snapshots = requireOffered(pool, pool.backend.snapshots, 'snapshots');
  if (kind === 'group') requireOffered(pool, snapshots.createGroup, 'groups of snapshots');
  return snapshots;
}

/** Removes them from their pool. */
export async function deleteAll(pools: Pools, members: readonly SnapshotRecord[]): Promise<void> {
  for (const member of members)
    await requireSnapshots(pools.get(member.pool), 'snapshot').delete(toSnapshotRef(member));
}

/** Removes all that is recorded, and what it takes of its pool. */
export async function forget(sql: Sql, { kind, id }: Ref, { members }: Recorded): Promise<void> {
  for (const member of members) {
    await moveReservation(sql, member, undefined);
    await snapshotTable.remove(sql, member);
  }
  if (kind === 'group') await groupTable.remove(sql, { id });
}

/** ALREADY_EXISTS when something else is recorded than is asked for now; the order of volumes makes no difference. */
export function requireSame(
  { kind, id }: Ref,
  { subject, members }: Recorded,
  asked: Pick<GroupRecord, 'name' | 'parameters'> & {
    readonly volumeIds: readonly string[];
    readonly requirement: Requirement;
  },
): void {
  const groupId = kind === 'snapshot' ? members[0]?.groupId : undefined;
  const volumeIds = members.map(({ volumeId }) => volumeId);
  const stray = members.find(({ segments }) => !meets(segments, asked.requirement));
  if (subject.state === 'deleting' && groupId === undefined)
    throw new Problem('ABORTED', `${kind} "${id}" is being deleted; try again`);
  const differences = [
    [groupId === undefined, `as a member of group "${groupId}"`],
    [subject.name === asked.name, `with the name "${subject.name}"`],
    [
      sameJson(volumeIds.toSorted(), asked.volumeIds.toSorted()),
      `of volume ${volumeIds.map(one => `"${one}"`).join(', ')}`,
    ],
    [sameJson(subject.parameters, asked.parameters), 'with other parameters'],
    [!stray, `in "${formatSegments(stray?.segments ?? {})}", which is not where it is asked for`],
  ] as const;
  const difference = differences.find(([isSame]) => !isSame);
  if (difference) throw new Problem('ALREADY_EXISTS', `${kind} "${id}" is there, ${difference[1]}`);
}

/** A snapshot as the API shows it. */
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

/** A group as the API shows it. */
export function toGroup({ subject, members }: Recorded): Group {
  const { id, name, state, createdAtMs } = subject;
  const createdAt = new Date(createdAtMs).toISOString();
  return { id, name, state, snapshots: members.map(toSnapshot), createdAt };
}

/** A snapshot as backends know it. */
export function toKnownSnapshot(record: SnapshotRecord): KnownSnapshot {
  const { volumeId, sizeBytes, segments } = record;
  return { ...toSnapshotRef(record), volumeId, sizeBytes, ...(segments && { segments }) };
}

/** A snapshot as backends find it. */
export function toSnapshotRef({ id, nonce, groupId, member }: SnapshotRecord) {
  return { id, nonce, ...(groupId !== undefined && { group: { id: groupId, member } }) };
}
