import { encryptionOf } from '../../src/api/filesystems.ts';
import { preconditionProblem, Problem, problemTable, unavailableProblem } from '../../src/api/problem.ts';
import type { TopologyRequirement } from '../../src/api/storage.ts';
import { formatSegments } from '../../src/api/topology.ts';
import { type CreatedSnapshot, memberIdOf, type NewSnapshot } from '../backend.ts';
import type { Intended } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Pools } from '../pools/pools.ts';
import { measureSpaces, requireSpace, type Space } from '../pools/space.ts';
import type { Sql } from '../store.ts';
import type { Resource } from '../tables/claims.ts';
import { groupTable } from '../tables/groups.ts';
import { moveReservation } from '../tables/reservations.ts';
import { type SnapshotRecord, snapshotTable } from '../tables/snapshots.ts';
import { findVolume, type VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { requireOwner } from '../tenancy/access.ts';
import { requireOwnNew } from '../tenancy/ownership.ts';
import { requireQuota } from '../tenancy/quotas.ts';
import { anywhere, meets, requirementSteps, type Requirement } from '../volumes/placement.ts';
import { requireReadyVolume, toKnownVolume } from '../volumes/record.ts';
import { isWritable } from '../volumes/sources.ts';
import { readParameters } from '../volumes/validate.ts';
import { recordDeleting, undoRecorded } from './delete.ts';
import {
  findRecorded,
  newSnapshotRecord,
  type Recorded,
  type Ref,
  requireSame,
  requireSnapshots,
  toSnapshotRef,
} from './record.ts';

/** A snapshot of one volume, or a group with one of each. */
export type Asked = Ref & {
  readonly name: string;
  readonly volumeIds: readonly string[];
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** Of a snapshot: where volumes made from it must be reached from. */
  readonly topology?: TopologyRequirement | undefined;
};
/** With what is known before the transaction: the spaces of the pool, and what snapshots take if it says so. */
type Planned = Asked & {
  readonly cluster: Cluster;
  readonly pools: Pools;
  readonly requirement: Requirement;
  readonly spaces: readonly Space[] | undefined;
  readonly bytesOf: ReadonlyMap<string, number>;
};
type Creating = Recorded & { readonly snapshots: readonly NewSnapshot[] };
type Created = Recorded & { readonly created: boolean };

/** Creates all members or none, or finds that they are there and records how they go on; `created` is false then. */
export async function createRecorded(
  options: ServiceOptions,
  cluster: Cluster,
  asked: Asked,
): Promise<Created> {
  const { kind, id, volumeIds } = asked;
  const sources = volumeIds.map((volumeId): Resource => ({ kind: 'volume', id: volumeId }));
  requireOwnNew(cluster, asked);
  for (const { id: volumeId } of sources) await requireOwner(options.engine.reader, cluster, volumeId);
  const planned = await plan(options, cluster, asked);
  return options.operations.run<Creating, readonly CreatedSnapshot[], Created>({
    operation: 'snapshot',
    subject: asked,
    claims: [{ kind, id }, ...sources],
    pool: ({ subject }) => subject.pool,
    intend: sql => intendCreate(sql, planned),
    act: creating => createAll(planned, creating),
    succeed: (sql, { intent, effect }) => recordAll(sql, asked, { intent, effect }),
    async fail(sql, { intent, problem }) {
      // One that was created stays, so that whoever knows of it can delete it.
      if (problemTable[problem.code].final && intent.subject.state === 'creating')
        await recordDeleting(sql, asked, intent);
    },
    undo: intent => undoRecorded(options.pools, asked, { recorded: intent, states: ['deleting'] }),
  });
}

async function plan(
  { engine, pools, turns }: ServiceOptions,
  cluster: Cluster,
  asked: Asked,
): Promise<Planned> {
  const placing = asked.topology && requirementSteps(asked.topology);
  const requirement = placing ? await turns.work(cluster, placing) : anywhere;
  const bytesOf = new Map<string, number>();
  let spaces: Planned['spaces'];
  for (const id of asked.volumeIds) {
    const volume = await findVolume(engine.reader, id);
    if (!volume) continue;
    const pool = pools.get(volume.pool);
    spaces ??= await measureSpaces(pool);
    const bytes = await pool.backend.snapshots?.measure?.(toKnownVolume(volume));
    if (bytes !== undefined) bytesOf.set(id, bytes);
  }
  return { ...asked, cluster, pools, requirement, spaces, bytesOf };
}

/** The volumes stay claimed until all is created, and are not deleted before that is ready. */
async function intendCreate(sql: Sql, planned: Planned): Promise<Intended<Creating, Created>> {
  const known = await findRecorded(sql, planned);
  if (known)
    requireSame(planned, known, { ...planned, parameters: parametersIn(planned, known.subject.pool) });
  if (known?.subject.state === 'ready') return { result: { ...known, created: false } };
  // Asked together, they take one way to a database that is reached over a network.
  const sources = await Promise.all(
    planned.volumeIds.map(id => Promise.all([requireReadyVolume(sql, id), isWritable(sql, id)])),
  );
  const volumes = sources.map(([volume]) => volume);
  const recorded = known ?? (await recordNew(sql, planned, volumes));
  const snapshots = recorded.members.flatMap((member): readonly NewSnapshot[] => {
    const { parameters, volumeId } = member;
    const [volume, attachedForWriting = false] = sources.find(([{ id }]) => id === volumeId) ?? [];
    if (!volume) return [];
    return [{ ...toSnapshotRef(member), volume: toKnownVolume(volume), attachedForWriting, parameters }];
  });
  return { intent: { ...recorded, snapshots } };
}

function parametersIn({ kind, parameters, pools }: Planned, pool: string): Record<string, string> {
  return readParameters(requireSnapshots(pools.get(pool), kind).parameters, parameters);
}

/** Ids of members of a group are made of their nonce, so that none is another snapshot's. */
async function recordNew(sql: Sql, planned: Planned, volumes: readonly VolumeRecord[]): Promise<Recorded> {
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
    const given = { reservedBytes, member, nonce, groupId: isGroup ? id : undefined, encryption };
    return newSnapshotRecord({ id: memberId, cluster, name, volumeId: volume.id, parameters }, volume, given);
  });
  for (const member of members) await recordMember(sql, planned, member);
  return { subject: group, members };
}

/** RESOURCE_EXHAUSTED when it would not be where it is asked for, or there is no space for what it takes. */
async function recordMember(
  sql: Sql,
  { cluster, pools, requirement, spaces }: Planned,
  member: SnapshotRecord,
): Promise<void> {
  const { id, volumeId, segments, reservedBytes: bytes } = member;
  if (segments && !meets(segments, requirement))
    throw new Problem(
      'RESOURCE_EXHAUSTED',
      `snapshot "${id}" can only be where volume "${volumeId}" is: in "${formatSegments(segments)}", which is not where it is asked for`,
    );
  const topologies = segments && [segments];
  const where = { pool: pools.get(member.pool), spaces };
  await Promise.all([
    requireSpace(sql, where, { bytes, topologies, tooLarge: 'RESOURCE_EXHAUSTED' }),
    requireQuota(sql, cluster, { pool: member.pool, bytes, snapshots: 1 }),
  ]);
  await moveReservation(sql, undefined, member);
  await snapshotTable.add(sql, member);
}

/** The pool of all these volumes; FAILED_PRECONDITION when they are in several. */
function requireOnePool({ kind, id }: Ref, volumes: readonly VolumeRecord[]): string {
  const [first, ...rest] = volumes;
  const other = rest.find(({ pool }) => pool !== first?.pool);
  if (first && !other) return first.pool;
  throw preconditionProblem(
    `${kind} "${id}" cannot be created: volume "${first?.id}" is in pool "${first?.pool}", volume "${other?.id}" in pool "${other?.pool}"`,
  );
}

async function createAll(
  { kind, id, pools }: Planned,
  { subject, members, snapshots }: Creating,
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
  { intent, effect }: { readonly intent: Creating; readonly effect: readonly CreatedSnapshot[] },
): Promise<Created> {
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
  const createdAtMs = Math.min(...members.map(member => member.createdAtMs));
  if (kind === 'group') await groupTable.update(sql, { id }, { state, createdAtMs });
  const subject = { ...intent.subject, state, createdAtMs } as const;
  return { subject, members, created: intent.subject.state === 'creating' };
}
