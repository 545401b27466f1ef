import { encryptionOf } from '../../src/api/filesystems.ts';
import { filesystemOf } from '../volumes/filesystem.ts';
import { limitProblem, limits } from '../../src/api/limits.ts';
import { preconditionProblem, Problem, problemTable, unavailableProblem } from '../../src/api/problem.ts';
import type { TopologyRequirement } from '../../src/api/storage.ts';
import { formatSegments } from '../../src/api/topology.ts';
import { type CreatedSnapshot, memberIdOf, type NewSnapshot } from '../backend.ts';
import type { IntendResult } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Pools } from '../pools/pools.ts';
import { requireAll } from '../pools/room.ts';
import { measureSpaces, requireSpace, type Space } from '../pools/space.ts';
import type { Sql } from '../store.ts';
import type { Resource } from '../tables/claims.ts';
import { requireInService } from '../tables/closures.ts';
import { isWritable } from '../tables/attachments.ts';
import { groupTable, type GroupRecord } from '../tables/groups.ts';
import { moveReservation } from '../tables/reservations.ts';
import { type SnapshotRecord, snapshotTable, toSnapshotRef } from '../tables/snapshots.ts';
import { segmentsText } from '../tables/table.ts';
import { findVolume, type VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../callers/cluster.ts';
import { requireOwner } from '../callers/access.ts';
import { requireOwnNew } from '../callers/ownership.ts';
import { requireQuota } from '../pools/quotas.ts';
import { requireRecordSize } from '../tables/record-size.ts';
import { anywhere, meets, requirementSteps, type Requirement } from '../volumes/placement.ts';
import { requireReadyVolume, toKnownVolume } from '../volumes/record.ts';
import { createRoomMaker } from '../volumes/deletion/leave.ts';
import { readClassParameters } from '../volumes/validate.ts';
import { recordDeleting, undoSnapshotSet } from './delete.ts';
import {
  findSnapshotSet,
  newSnapshotRecord,
  type SnapshotSet,
  type Ref,
  requireSame,
  requireSnapshots,
} from './record.ts';
import { minOf } from '../../src/lib/numbers.ts';

type SnapshotRequest = Ref & {
  readonly name: string;
  readonly volumeIds: readonly string[];
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** For a snapshot: its copies must be reachable from this topology. */
  readonly topology?: TopologyRequirement | undefined;
};
/**
 * The request with the facts that are read before the transaction: the spaces of the pool, and the sizes of
 * snapshots if the backend reports them.
 */
type SnapshotPlan = SnapshotRequest & {
  readonly cluster: Cluster;
  readonly pools: Pools;
  readonly requirement: Requirement;
  readonly spaces: readonly Space[] | undefined;
  readonly bytesOf: ReadonlyMap<string, number>;
};
type SnapshotIntent = SnapshotSet & { readonly snapshots: readonly NewSnapshot[] };
type CreateResult = SnapshotSet & { readonly created: boolean };

/**
 * Creates all members or none, or finds existing ones and records their progress; `created` is false for
 * existing ones.
 */
export async function createSnapshotSet(
  options: ServiceOptions,
  cluster: Cluster,
  request: SnapshotRequest,
): Promise<CreateResult> {
  const { kind, id, volumeIds } = request;
  const sources = volumeIds.map((volumeId): Resource => ({ kind: 'volume', id: volumeId }));
  requireOwnNew(cluster, request);
  for (const { id: volumeId } of sources) await requireOwner(options.engine.reader, cluster, volumeId);
  const planned = await plan(options, cluster, request);
  return options.operations.run<SnapshotIntent, readonly CreatedSnapshot[], CreateResult>({
    operation: 'snapshot',
    subject: request,
    claims: [{ kind, id }, ...sources],
    pool: ({ subject }) => subject.pool,
    intend: sql => intendCreate(sql, planned),
    makeRoom: createRoomMaker(options),
    act: creating => createAll(planned, creating),
    succeed: (sql, { intent, effect }) => recordAll(sql, request, { intent, effect }),
    async fail(sql, { intent, problem }) {
      // A snapshot that was created stays, so that a caller that knows it can delete it.
      if (problemTable[problem.code].final && intent.subject.state === 'creating')
        await recordDeleting(sql, request, intent);
    },
    undo: intent => undoSnapshotSet(options.pools, request, { set: intent, states: ['deleting'] }),
  });
}

async function plan(
  { engine, operations, pools, slices }: ServiceOptions,
  cluster: Cluster,
  request: SnapshotRequest,
): Promise<SnapshotPlan> {
  const placing = request.topology && requirementSteps(request.topology);
  const requirement = placing ? await slices.work(cluster, placing) : anywhere;
  const bytesOf = new Map<string, number>();
  let spaces: SnapshotPlan['spaces'];
  for (const id of request.volumeIds) {
    const volume = await findVolume(engine.reader, id);
    if (!volume) continue;
    const logged = { operation: 'snapshot', kind: request.kind, id: request.id };
    await operations.prepare(logged, volume.pool, async () => {
      const pool = pools.get(volume.pool);
      // A backend may answer both by one look at its storage.
      const measuring = pool.backend.snapshots?.measure?.(toKnownVolume(volume));
      const [found, bytes] = await Promise.all([spaces ?? measureSpaces(pool), measuring]);
      spaces = found;
      if (bytes !== undefined) bytesOf.set(id, bytes);
    });
  }
  return { ...request, cluster, pools, requirement, spaces, bytesOf };
}

/**
 * Records the intent. The claims keep the volumes until all snapshots are created, and the records keep the
 * volumes until all snapshots are ready.
 */
async function intendCreate(
  sql: Sql,
  planned: SnapshotPlan,
): Promise<IntendResult<SnapshotIntent, CreateResult>> {
  const known = await findSnapshotSet(sql, planned);
  if (known)
    requireSame(planned, known, { ...planned, parameters: parametersIn(planned, known.subject.pool) });
  if (known?.subject.state === 'ready') return { result: { ...known, created: false } };
  // Statements that are sent together take only one round trip to a database on the network.
  const sources = await Promise.all(
    planned.volumeIds.map(id => Promise.all([requireReadyVolume(sql, id), isWritable(sql, id)])),
  );
  const volumes = sources.map(([volume]) => volume);
  const set = known ?? (await recordNew(sql, planned, volumes));
  const snapshots = set.members.flatMap((member): readonly NewSnapshot[] => {
    const { volumeId } = member;
    const { keepDeleted: _, ...parameters } = member.parameters;
    const [volume, attachedForWriting = false] = sources.find(([{ id }]) => id === volumeId) ?? [];
    if (!volume) return [];
    return [{ ...toSnapshotRef(member), volume: toKnownVolume(volume), attachedForWriting, parameters }];
  });
  return { intent: { ...set, snapshots } };
}

function parametersIn({ kind, parameters, pools }: SnapshotPlan, pool: string): Record<string, string> {
  return readClassParameters(requireSnapshots(pools.get(pool), kind).parameters, parameters);
}

/**
 * Records new members. The ids of a group's members contain their nonce, so that they never equal another
 * snapshot's id.
 */
async function recordNew(
  sql: Sql,
  planned: SnapshotPlan,
  volumes: readonly VolumeRecord[],
): Promise<SnapshotSet> {
  const { kind, id, name } = planned;
  const cluster = planned.cluster.name;
  const pool = requireOnePool(planned, volumes);
  const parameters = parametersIn(planned, pool);
  const isGroup = kind === 'group';
  const group = { id, cluster, name, pool, parameters, state: 'creating', createdAtMs: Date.now() } as const;
  if (isGroup) await groupTable.add(sql, group);
  const nonce = crypto.randomUUID();
  const members = volumes.map((volume, member): SnapshotRecord => {
    const memberId = isGroup ? memberIdOf(id, nonce, member) : id;
    const reservedBytes = planned.bytesOf.get(volume.id) ?? volume.sizeBytes;
    const encryption = encryptionOf(volume.spec.parameters);
    const filesystem = filesystemOf(volume);
    const groupId = isGroup ? id : undefined;
    const given = { reservedBytes, member, nonce, groupId, encryption, filesystem };
    return newSnapshotRecord({ id: memberId, cluster, name, volumeId: volume.id, parameters }, volume, given);
  });
  for (const one of [...(isGroup ? [group] : []), ...members]) requireRecordSize(`${kind} "${one.id}"`, one);
  // Several members together add more than a transaction with a share may.
  if (members.length > 1) await Promise.all([sql.lock('pool', pool), sql.lock('cluster', cluster)]);
  await requireRoom(sql, planned, { pool, nonce, members });
  for (const member of members) {
    await moveReservation(sql, undefined, member);
    await snapshotTable.add(sql, member);
  }
  return { subject: group, members };
}

/** Throws RESOURCE_EXHAUSTED when there is no space for all members together, or one of them may not be made. */
async function requireRoom(
  sql: Sql,
  { cluster, pools, requirement, spaces }: SnapshotPlan,
  { pool, nonce, members }: Pick<GroupRecord, 'pool'> & NewMembers,
): Promise<void> {
  const where = { pool: pools.get(pool), spaces };
  const byTopology = Map.groupBy(members, ({ segments }) => segments && segmentsText(segments));
  const sizes = Array.from(byTopology.values(), ([first, ...same]) => {
    const topologies = first?.segments && [first.segments];
    return { bytes: sumOf([first, ...same]), nonce, topologies, tooLarge: 'RESOURCE_EXHAUSTED' } as const;
  });
  await requireAll([
    ...members.map(member => requireMember(sql, requirement, member)),
    ...sizes.map(size => requireSpace(sql, where, size)),
    requireInService(sql, cluster.name, nonce),
    requireQuota(sql, cluster, { pool, nonce, bytes: sumOf(members), snapshots: members.length }),
  ]);
}

type NewMembers = { readonly nonce: string; readonly members: readonly SnapshotRecord[] };

function sumOf(members: readonly (SnapshotRecord | undefined)[]): number {
  return members.reduce((sum, one) => sum + (one?.reservedBytes ?? 0), 0);
}

/** Throws RESOURCE_EXHAUSTED when the topology does not match the request, or the volume has too many snapshots. */
async function requireMember(
  sql: Sql,
  requirement: Requirement,
  { id, volumeId, segments }: SnapshotRecord,
): Promise<void> {
  if (segments && !meets(segments, requirement))
    throw new Problem(
      'RESOURCE_EXHAUSTED',
      `snapshot "${id}" can only be where volume "${volumeId}" is: in "${formatSegments(segments)}", which is not a requested topology`,
    );
  const { max } = limits.snapshotsPerVolume;
  const count = await snapshotTable.count(sql, { same: { volumeId }, max });
  if (count >= max) throw limitProblem('snapshotsPerVolume', `volume "${volumeId}"`, count + 1);
}

/** Returns the pool of all these volumes. FAILED_PRECONDITION when they are in several pools. */
function requireOnePool({ kind, id }: Ref, volumes: readonly VolumeRecord[]): string {
  const [first, ...rest] = volumes;
  const other = rest.find(({ pool }) => pool !== first?.pool);
  if (first && !other) return first.pool;
  throw preconditionProblem(
    `${kind} "${id}" cannot be created: volume "${first?.id}" is in pool "${first?.pool}", volume "${other?.id}" in pool "${other?.pool}"`,
  );
}

async function createAll(
  { kind, id, pools }: SnapshotPlan,
  { subject, members, snapshots }: SnapshotIntent,
): Promise<readonly CreatedSnapshot[]> {
  const backend = requireSnapshots(pools.get(subject.pool), kind);
  const created =
    kind === 'group'
      ? await backend.createGroup?.(snapshots)
      : await Promise.all(snapshots.map(one => backend.create(one)));
  if (created?.length === members.length) return created;
  const problem = `the storage created ${created?.length} of the ${members.length} members of group "${id}"`;
  throw unavailableProblem(problem);
}

async function recordAll(
  sql: Sql,
  { kind, id }: Ref,
  { intent, effect }: { readonly intent: SnapshotIntent; readonly effect: readonly CreatedSnapshot[] },
): Promise<CreateResult> {
  const members: SnapshotRecord[] = [];
  for (const [index, { ready, ...created }] of effect.entries()) {
    const before = intent.members[index];
    if (!before) continue;
    const state = ready ? 'ready' : 'processing';
    const after = { ...before, reservedBytes: created.sizeBytes, ...created, state } as const;
    await moveReservation(sql, before, after);
    await snapshotTable.replace(sql, after);
    members.push(after);
  }
  const state = members.every(member => member.state === 'ready') ? 'ready' : 'processing';
  const createdAtMs = minOf(members.map(member => member.createdAtMs));
  if (kind === 'group') await groupTable.update(sql, { id }, { state, createdAtMs });
  const subject = { ...intent.subject, state, createdAtMs } as const;
  return { subject, members, created: intent.subject.state === 'creating' };
}
