import { Problem, problemTable } from '../../src/api/problem.ts';
import type { TopologyRequirement } from '../../src/api/storage.ts';
import { formatSegments } from '../../src/api/topology.ts';
import type { CreatedSnapshot, NewSnapshot } from '../backend.ts';
import type { Intended } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { undoOrRetry } from '../operations/undo.ts';
import type { Pools } from '../pools/pools.ts';
import type { Sql } from '../store.ts';
import type { Resource } from '../tables/claims.ts';
import { groupTable } from '../tables/groups.ts';
import type { SnapshotRecord } from '../tables/snapshots.ts';
import type { VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { requireOwn, requireOwnNew } from '../tenancy/ownership.ts';
import { toKnownVolume } from '../volumes/documents.ts';
import { meets, readRequirement, type Requirement } from '../volumes/placement.ts';
import { requireReadyVolume } from '../volumes/ready.ts';
import { isWritable } from '../volumes/sources.ts';
import { readParameters } from '../volumes/validate.ts';
import {
  findRecorded,
  forget,
  measureSnapshots,
  newSnapshotRecord,
  recordCreated,
  recordSnapshot,
  requireSame,
  requireSnapshots,
  type Measured,
  type Recorded,
  type Ref,
} from './record.ts';

/** A snapshot of one volume, or a group with one of each. */
export type Asked = Ref & {
  readonly name: string;
  readonly volumeIds: readonly string[];
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** Of a snapshot: where volumes made from it must be reached from. */
  readonly topology?: TopologyRequirement | undefined;
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
  for (const source of sources) requireOwn(cluster, source);
  const requirement = readRequirement(asked.topology);
  const measured = await measureSnapshots(options, volumeIds);
  const context = { pools: options.pools, cluster: cluster.name, requirement, measured };
  return options.operations.run<Creating, readonly CreatedSnapshot[], Created>({
    operation: 'snapshot',
    subject: asked,
    claims: [{ kind, id }, ...sources],
    intend: sql => intendCreate(sql, asked, context),
    act: creating => createAll(options.pools, asked, creating),
    succeed: (sql, { intent, effect }) => recordAll(sql, asked, { intent, effect }),
    async fail(sql, { intent, problem }) {
      // One that was created stays, so that whoever knows of it can delete it.
      if (problemTable[problem.code].final && intent.subject.state === 'creating')
        await forget(sql, asked, intent);
    },
  });
}

type Context = {
  readonly pools: Pools;
  readonly cluster: string;
  readonly requirement: Requirement;
  readonly measured: Measured;
};

/** The volumes stay claimed until all is created, and are not deleted before that is ready. */
async function intendCreate(sql: Sql, asked: Asked, context: Context): Promise<Intended<Creating, Created>> {
  const known = await findRecorded(sql, asked);
  if (known) requireSame(asked, known, withParameters(asked, context, known.subject.pool));
  if (known?.subject.state === 'ready') return { result: { ...known, created: false } };
  const volumes: VolumeRecord[] = [];
  for (const id of asked.volumeIds) volumes.push(await requireReadyVolume(sql, id));
  const recorded = known ?? (await recordNew(sql, asked, { ...context, volumes }));
  const snapshots: NewSnapshot[] = [];
  for (const { id, parameters, volumeId } of recorded.members) {
    const volume = volumes.find(one => one.id === volumeId);
    const attachedForWriting = await isWritable(sql, volumeId);
    if (volume) snapshots.push({ id, volume: toKnownVolume(volume), attachedForWriting, parameters });
  }
  return { intent: { ...recorded, snapshots } };
}

function withParameters(asked: Asked, { pools, requirement }: Context, pool: string) {
  const { parameters: schema } = requireSnapshots(pools.get(pool), asked.kind);
  return { ...asked, requirement, parameters: readParameters(schema, asked.parameters) };
}

/** Ids of members of a group say nothing, so that none is another snapshot's. */
async function recordNew(
  sql: Sql,
  asked: Asked,
  context: Context & { readonly volumes: readonly VolumeRecord[] },
): Promise<Recorded> {
  const { pools, cluster, requirement, measured, volumes } = context;
  const { kind, id, name } = asked;
  const pool = requireOnePool(asked, volumes);
  const { parameters } = withParameters(asked, context, pool);
  const isGroup = kind === 'group';
  const members = volumes.map((volume, member): SnapshotRecord => {
    const memberId = isGroup ? `${cluster}.member-${crypto.randomUUID()}` : id;
    const reservedBytes = measured.bytesOf.get(volume.id) ?? volume.sizeBytes;
    const given = { reservedBytes, member, groupId: isGroup ? id : undefined };
    return newSnapshotRecord({ id: memberId, cluster, name, volumeId: volume.id, parameters }, volume, given);
  });
  const group = { id, cluster, name, pool, parameters, state: 'creating', createdAtMs: Date.now() } as const;
  if (isGroup) await groupTable.insert(sql, group);
  for (const member of members) {
    requireMeets(member, requirement);
    await recordSnapshot(sql, member, { pool: pools.get(pool), spaces: measured.spaces });
  }
  return { subject: group, members };
}

function requireMeets({ id, volumeId, segments }: SnapshotRecord, requirement: Requirement): void {
  if (segments && !meets(segments, requirement))
    throw new Problem(
      'RESOURCE_EXHAUSTED',
      `snapshot "${id}" can only be where volume "${volumeId}" is: in "${formatSegments(segments)}", which is not where it is asked for`,
    );
}

/** The pool of all these volumes; FAILED_PRECONDITION when they are in several. */
function requireOnePool({ kind, id }: Ref, volumes: readonly VolumeRecord[]): string {
  const [first, ...rest] = volumes;
  const other = rest.find(({ pool }) => pool !== first?.pool);
  if (first && !other) return first.pool;
  throw new Problem(
    'FAILED_PRECONDITION',
    `${kind} "${id}" cannot be created: volume "${first?.id}" is in pool "${first?.pool}", volume "${other?.id}" in pool "${other?.pool}"`,
  );
}

/**
 * After a failure that is final nothing is left behind, also of what an earlier try may have done; where that cannot be
 * undone the failure is not final (UNAVAILABLE).
 */
async function createAll(
  pools: Pools,
  { kind, id }: Ref,
  { subject, members, snapshots }: Creating,
): Promise<readonly CreatedSnapshot[]> {
  const backend = requireSnapshots(pools.get(subject.pool), kind);
  try {
    const created =
      kind === 'group'
        ? await backend.createGroup?.(snapshots)
        : await Promise.all(snapshots.map(one => backend.create(one)));
    if (created?.length === members.length) return created;
    const problem = `the storage created ${created?.length} of the ${members.length} members of group "${id}"`;
    throw new Problem('UNAVAILABLE', problem);
  } catch (error) {
    if (subject.state === 'creating' && error instanceof Problem && problemTable[error.code].final)
      await undoOrRetry(() => deleteAll(pools, members));
    throw error;
  }
}

/** Removes them from their pool. */
export async function deleteAll(pools: Pools, members: readonly SnapshotRecord[]): Promise<void> {
  for (const { id, pool } of members) await requireSnapshots(pools.get(pool), 'snapshot').delete({ id });
}

async function recordAll(
  sql: Sql,
  { kind, id }: Ref,
  { intent, effect }: { readonly intent: Creating; readonly effect: readonly CreatedSnapshot[] },
): Promise<Created> {
  const members: SnapshotRecord[] = [];
  for (const [index, member] of intent.members.entries()) {
    const created = effect[index];
    if (created) members.push(await recordCreated(sql, member, created));
  }
  const state = members.every(member => member.state === 'ready') ? 'ready' : 'processing';
  const createdAtMs = Math.min(...members.map(member => member.createdAtMs));
  if (kind === 'group') await groupTable.update(sql, { id }, { state, createdAtMs });
  const subject = { ...intent.subject, state, createdAtMs } as const;
  return { subject, members, created: intent.subject.state === 'creating' };
}
