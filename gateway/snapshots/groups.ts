import { clusterOf } from '../../src/api/ids.ts';
import { Problem, problemTable } from '../../src/api/problem.ts';
import type { Group, GroupSpec } from '../../src/api/snapshot.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { CreatedSnapshot, NewSnapshot, Snapshots as BackendSnapshots } from '../backend.ts';
import type { Intended } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireAnyOffers, requireOffered } from '../pools/features.ts';
import type { Sql } from '../store.ts';
import type { Resource } from '../tables/claims.ts';
import { groupTable, type GroupRecord } from '../tables/groups.ts';
import { findMembers, snapshotTable, type SnapshotRecord } from '../tables/snapshots.ts';
import type { VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { notFoundProblem, requireOwn, requireOwnNew } from '../tenancy/ownership.ts';
import { requireReadyVolume } from '../volumes/ready.ts';
import { requireUnneeded } from '../volumes/sources.ts';
import { readParameters } from '../volumes/validate.ts';
import { measureSnapshots, type Measured } from './measure.ts';
import {
  createOrUndo,
  forgetSnapshot,
  newSnapshotRecord,
  recordCreated,
  recordSnapshot,
  requireSnapshots,
  toNewSnapshot,
} from './record.ts';
import { toGroup } from './documents.ts';

/** Snapshots of several volumes at one point in time; another cluster's are not there for the one that asks. */
export interface Groups {
  /** Creates all members or none, or finds that they are there; `created` is false then. */
  create(cluster: Cluster, id: string, spec: GroupSpec): Promise<{ group: Group; created: boolean }>;
  find(cluster: Cluster, id: string): Promise<Group | undefined>;
  get(cluster: Cluster, id: string): Promise<Group>;
  /** Deletes the group with its members; one that is not there is fine. */
  delete(cluster: Cluster, id: string): Promise<void>;
}

type Asked = Pick<GroupRecord, 'id' | 'cluster' | 'name'> & {
  readonly volumeIds: readonly string[];
  readonly parameters: Readonly<Record<string, string>> | undefined;
};
type Recorded = { readonly group: GroupRecord; readonly members: readonly SnapshotRecord[] };
type Creating = Recorded & { readonly snapshots: readonly NewSnapshot[] };
type Created = Recorded & { readonly created: boolean };

/** Makes the service. */
export function createGroups({ engine, pools, operations }: ServiceOptions): Groups {
  const requireAny = (): void => requireAnyOffers(pools, 'groups', 'groups of snapshots');

  function offered(name: string): BackendSnapshots & Required<Pick<BackendSnapshots, 'createGroup'>> {
    const pool = pools.get(name);
    const snapshots = requireSnapshots(pool);
    const createGroup = requireOffered(pool, snapshots.createGroup, 'groups of snapshots');
    return { ...snapshots, createGroup };
  }

  async function find(cluster: Cluster, id: string): Promise<Group | undefined> {
    requireAny();
    const group = await groupTable.find(engine.reader, { id });
    return group?.cluster === cluster.name ? toGroup(group, await findMembers(engine.reader, id)) : undefined;
  }

  async function intendCreate(
    sql: Sql,
    asked: Asked,
    measured: Measured,
  ): Promise<Intended<Creating, Created>> {
    const known = await recall(sql, asked.id);
    if (known) requireSame(known, withParameters(asked, known.group.pool));
    if (known?.group.state === 'ready') return { result: { ...known, created: false } };
    const volumes = new Map<string, VolumeRecord>();
    for (const id of asked.volumeIds) volumes.set(id, await requireReadyVolume(sql, id));
    const { group, members } =
      known ?? (await record(sql, asked, { volumes: [...volumes.values()], measured }));
    const snapshots: NewSnapshot[] = [];
    for (const member of members) {
      const volume = volumes.get(member.volumeId);
      if (volume) snapshots.push(await toNewSnapshot(sql, member, volume));
    }
    return { intent: { group, members, snapshots } };
  }

  /** Members' ids say nothing, so that none is another snapshot's. */
  async function record(
    sql: Sql,
    asked: Asked,
    { volumes, measured }: { readonly volumes: readonly VolumeRecord[]; readonly measured: Measured },
  ): Promise<Recorded> {
    const pool = requireOnePool(asked.id, volumes);
    const { id, cluster, name, parameters } = withParameters(asked, pool);
    const group: GroupRecord = {
      id,
      cluster,
      name,
      pool,
      parameters,
      state: 'creating',
      createdAtMs: Date.now(),
    };
    await groupTable.insert(sql, group);
    const members = volumes.map((volume, member) => {
      const ids = { id: `${cluster}.member-${crypto.randomUUID()}`, volumeId: volume.id };
      const reservedBytes = measured.bytesOf.get(volume.id) ?? volume.sizeBytes;
      const given = { groupId: id, member, reservedBytes };
      return newSnapshotRecord({ ...ids, cluster, name, parameters }, volume, given);
    });
    const where = { pool: pools.get(pool), spaces: measured.spaces };
    for (const member of members) await recordSnapshot(sql, member, where);
    return { group, members };
  }

  function withParameters(asked: Asked, pool: string): Asked & Pick<GroupRecord, 'parameters'> {
    return { ...asked, parameters: readParameters(offered(pool).parameters, asked.parameters) };
  }

  async function removeAll({ group, members }: Recorded): Promise<void> {
    const { delete: remove } = offered(group.pool);
    for (const { id } of members) await remove({ id });
  }

  return {
    find,

    async get(cluster, id) {
      const group = await find(cluster, id);
      if (!group) throw notFoundProblem({ kind: 'group', id });
      return group;
    },

    async create(cluster, id, { name, volumeIds, parameters }) {
      requireAny();
      const resource: Resource = { kind: 'group', id };
      const sources = volumeIds.map((volumeId): Resource => ({ kind: 'volume', id: volumeId }));
      requireOwnNew(cluster, resource);
      for (const source of sources) requireOwn(cluster, source);
      const asked: Asked = { id, cluster: cluster.name, name, volumeIds, parameters };
      const measured = await measureSnapshots({ engine, pools }, volumeIds);
      const done = await operations.run<Creating, readonly CreatedSnapshot[], Created>({
        operation: 'snapshot',
        subject: asked,
        claims: [resource, ...sources],
        intend: sql => intendCreate(sql, asked, measured),
        act: intent =>
          createOrUndo(
            async () => requireAll(intent, await offered(intent.group.pool).createGroup(intent.snapshots)),
            async () => intent.group.state === 'creating' && removeAll(intent),
          ),
        async succeed(sql, { intent, effect }) {
          const members: SnapshotRecord[] = [];
          for (const [index, member] of intent.members.entries())
            members.push(await recordCreated(sql, member, effect[index] ?? unready));
          const created = { group: afterCreate(intent.group, members), members };
          await groupTable.put(sql, created.group);
          return { ...created, created: intent.group.state === 'creating' };
        },
        async fail(sql, { intent, problem }) {
          if (problemTable[problem.code].final && intent.group.state === 'creating')
            await forgetAll(sql, intent);
        },
      });
      return { group: toGroup(done.group, done.members), created: done.created };
    },

    async delete(cluster, id) {
      requireAny();
      if (clusterOf(id) !== cluster.name) return;
      await operations.run<Recorded, void, void>({
        operation: 'delete',
        subject: undefined,
        claims: [{ kind: 'group', id }],
        intend: sql => intendDelete(sql, id),
        act: removeAll,
        succeed: (sql, { intent }) => forgetAll(sql, intent),
        // What is being deleted goes on being deleted.
        fail: async () => {},
      });
    },
  };
}

async function intendDelete(sql: Sql, id: string): Promise<Intended<Recorded, void>> {
  const known = await recall(sql, id);
  if (!known) return { result: undefined };
  for (const member of known.members) await requireUnneeded(sql, { kind: 'snapshot', id: member.id });
  await groupTable.update(sql, { id }, { state: 'deleting' });
  for (const member of known.members) await snapshotTable.update(sql, member, { state: 'deleting' });
  return { intent: known };
}

async function forgetAll(sql: Sql, { group, members }: Recorded): Promise<void> {
  for (const member of members) await forgetSnapshot(sql, member);
  await groupTable.remove(sql, group);
}

async function recall(sql: Sql, id: string): Promise<Recorded | undefined> {
  const group = await groupTable.find(sql, { id });
  return group && { group, members: await findMembers(sql, id) };
}

/** The pool of all these volumes; FAILED_PRECONDITION when they are in several. */
function requireOnePool(id: string, volumes: readonly VolumeRecord[]): string {
  const [first, ...rest] = volumes;
  const other = rest.find(({ pool }) => pool !== first?.pool);
  if (first && !other) return first.pool;
  throw new Problem(
    'FAILED_PRECONDITION',
    `group "${id}" cannot be created: volume "${first?.id}" is in pool "${first?.pool}", volume "${other?.id}" in pool "${other?.pool}"`,
  );
}

function requireAll(
  { group, members }: Recorded,
  taken: readonly CreatedSnapshot[],
): readonly CreatedSnapshot[] {
  if (taken.length === members.length) return taken;
  throw new Problem(
    'UNAVAILABLE',
    `the storage created ${taken.length} of the ${members.length} members of group "${group.id}"`,
  );
}

function afterCreate(group: GroupRecord, members: readonly SnapshotRecord[]): GroupRecord {
  const ready = members.every(({ state }) => state === 'ready');
  const createdAtMs = Math.min(...members.map(member => member.createdAtMs));
  return { ...group, createdAtMs, state: ready ? 'ready' : 'processing' };
}

const unready: CreatedSnapshot = { sizeBytes: 0, createdAtMs: 0, ready: false };

/** The order of the volumes makes no difference. */
function requireSame(
  { group: { id, name, state, parameters }, members }: Recorded,
  asked: Asked & Pick<GroupRecord, 'parameters'>,
): void {
  if (state === 'deleting') throw new Problem('ABORTED', `group "${id}" is being deleted; try again`);
  if (name !== asked.name)
    throw new Problem('ALREADY_EXISTS', `group "${id}" is there with the name "${name}"`);
  const has = members.map(({ volumeId }) => volumeId).sort();
  if (!sameJson(has, [...asked.volumeIds].sort()))
    throw new Problem('ALREADY_EXISTS', `group "${id}" is there with other volumes`);
  if (!sameJson(parameters, asked.parameters))
    throw new Problem('ALREADY_EXISTS', `group "${id}" is there with other parameters`);
}
