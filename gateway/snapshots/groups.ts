import { clusterOf } from '../../src/api/ids.ts';
import { Problem, problemTable } from '../../src/api/problem.ts';
import type { Group, GroupSpec } from '../../src/api/snapshot.ts';
import type { CutSnapshot, NewSnapshot, Snapshots as BackendSnapshots } from '../backend.ts';
import { requireReady } from '../volumes/expand.ts';
import { requireOffered } from '../volumes/features.ts';
import { sameJson } from '../../src/lib/json.ts';
import { notFound, requireOwn, requireOwnNew } from '../tenancy/ownership.ts';
import { dropClaim, takeClaim, type Claim, type Resource } from '../tables/claims.ts';
import { findGroup, insertGroup, putGroupState, removeGroup, type GroupRecord } from '../tables/groups.ts';
import { findMembers, insertSnapshot, putSnapshotState, type SnapshotRecord } from '../tables/snapshots.ts';
import { findVolume } from '../tables/volumes.ts';
import { checkParameters } from '../volumes/validate.ts';
import { toGroup } from '../volumes/documents.ts';
import { afterCut, cutOrUndo, newSnapshotRecord, toNewSnapshot } from './snapshots.ts';
import { requireUnneeded } from '../volumes/sources.ts';
import type { Sql } from '../store.ts';
import type { ServiceOptions } from '../volumes/volumes.ts';
import { requireHeld, type Intended } from '../operations/operation.ts';

/** Snapshots of several volumes at one point in time; another cluster's are not there for the one that asks. */
export interface Groups {
  /** Cuts all members or none, or finds that they are there; `created` is false then. */
  create(cluster: string, id: string, spec: GroupSpec): Promise<{ group: Group; created: boolean }>;
  find(cluster: string, id: string): Promise<Group | undefined>;
  get(cluster: string, id: string): Promise<Group>;
  /** Deletes the group with its members; one that is not there is fine. */
  delete(cluster: string, id: string): Promise<void>;
}

type Recorded = { readonly group: GroupRecord; readonly members: readonly SnapshotRecord[] };
type Cutting = Recorded & { readonly snapshots: readonly NewSnapshot[] };
type Cut = Recorded & { readonly created: boolean };

/** Makes the service. */
export function createGroups({ engine, backend, work }: ServiceOptions): Groups {
  function offered(): BackendSnapshots & Required<Pick<BackendSnapshots, 'createGroup'>> {
    const { snapshots } = backend;
    const createGroup = requireOffered(backend, snapshots?.createGroup, 'groups of snapshots');
    return { ...requireOffered(backend, snapshots, 'snapshots'), createGroup };
  }

  async function find(cluster: string, id: string): Promise<Group | undefined> {
    offered();
    const group = await findGroup(engine.reader, id);
    return group?.cluster === cluster ? toGroup(group, await findMembers(engine.reader, id)) : undefined;
  }

  async function intendCut(sql: Sql, asked: Recorded, claim: Claim): Promise<Intended<Cutting, Cut>> {
    const known = await recall(sql, asked.group.id);
    if (known) requireSame(known, asked);
    if (known?.group.state === 'ready') return { result: { ...known, created: false } };
    if (known) work.requireFree(known.group);
    else await insertGroup(sql, asked.group);
    await takeClaim(sql, asked.group, claim);
    const { group, members: wanted } = known ?? asked;
    const members: SnapshotRecord[] = [];
    const snapshots: NewSnapshot[] = [];
    for (const one of wanted) {
      const resource: Resource = { kind: 'volume', id: one.volumeId };
      const volume = requireReady(resource, await findVolume(sql, resource.id));
      work.requireFree(volume);
      await takeClaim(sql, volume, claim);
      const member = known ? one : { ...one, place: volume.place };
      if (!known) await insertSnapshot(sql, member);
      members.push(member);
      snapshots.push(await toNewSnapshot(sql, member, volume));
    }
    return { intent: { group, members, snapshots } };
  }

  async function intendDelete(sql: Sql, id: string, claim: Claim): Promise<Intended<Recorded, void>> {
    const known = await recall(sql, id);
    if (!known) return { result: undefined };
    work.requireFree(known.group);
    for (const member of known.members) await requireUnneeded(sql, member);
    await putStates(sql, {
      group: { ...known.group, state: 'deleting' },
      members: known.members.map(member => ({ ...member, state: 'deleting' })),
    });
    await takeClaim(sql, known.group, claim);
    return { intent: known };
  }

  async function removeAll({ members }: Recorded): Promise<void> {
    const { delete: remove } = offered();
    for (const { id } of members) await remove({ id });
  }

  return {
    find,

    async get(cluster, id) {
      const group = await find(cluster, id);
      if (!group) throw notFound({ kind: 'group', id });
      return group;
    },

    async create(cluster, id, { name, volumeIds, parameters }) {
      const { createGroup, parameters: schema } = offered();
      const resource: Resource = { kind: 'group', id };
      const sources = volumeIds.map((volumeId): Resource => ({ kind: 'volume', id: volumeId }));
      requireOwnNew(cluster, resource);
      for (const source of sources) requireOwn(cluster, source);
      const known = checkParameters({ parameters: schema }, parameters);
      const asked = newRecords({ id, cluster, name, parameters: known }, volumeIds);
      const claimed = [resource, ...sources] as const;
      const done = await work.run<Cutting, readonly CutSnapshot[], Cut>({
        resources: [resource, ...sources],
        operation: 'snapshot',
        subject: { name, volumeIds, parameters: known },
        intend: (sql, claim) => intendCut(sql, asked, claim),
        act: intent =>
          cutOrUndo(
            async () => requireAll(intent, await createGroup(intent.snapshots)),
            async () => intent.group.state === 'cutting' && removeAll(intent),
          ),
        async succeed(sql, { intent, effect }) {
          for (const held of claimed) requireHeld(await dropClaim(sql, held, work.owner), held);
          const cut = afterGroupCut(intent, effect);
          await putStates(sql, cut);
          return { ...cut, created: intent.group.state === 'cutting' };
        },
        async fail(sql, { intent, problem }) {
          for (const held of claimed) await dropClaim(sql, held, work.owner);
          if (problemTable[problem.code].final && intent.group.state === 'cutting')
            await removeGroup(sql, id);
        },
      });
      return { group: toGroup(done.group, done.members), created: done.created };
    },

    async delete(cluster, id) {
      offered();
      const resource: Resource = { kind: 'group', id };
      if (clusterOf(id) !== cluster) return;
      await work.run<Recorded, void, void>({
        resources: [resource],
        operation: 'delete',
        subject: undefined,
        intend: (sql, claim) => intendDelete(sql, id, claim),
        act: removeAll,
        async succeed(sql) {
          requireHeld(await dropClaim(sql, resource, work.owner), resource);
          await removeGroup(sql, id);
        },
        fail: async sql => void (await dropClaim(sql, resource, work.owner)),
      });
    },
  };
}

async function recall(sql: Sql, id: string): Promise<Recorded | undefined> {
  const group = await findGroup(sql, id);
  return group && { group, members: await findMembers(sql, id) };
}

/** A group as it is recorded at first. Its members' ids say nothing, so that none is another snapshot's. */
function newRecords(
  asked: Pick<GroupRecord, 'id' | 'cluster' | 'name' | 'parameters'>,
  volumeIds: readonly string[],
): Recorded {
  const { id: groupId, cluster, name, parameters } = asked;
  const group: GroupRecord = {
    ...asked,
    kind: 'group',
    state: 'cutting',
    createdAtMs: Date.now(),
    claim: undefined,
  };
  const members = volumeIds.map((volumeId, member) => {
    const id = `${cluster}.member-${crypto.randomUUID()}`;
    return newSnapshotRecord({ id, cluster, name, volumeId, parameters }, { groupId, member });
  });
  return { group, members };
}

async function putStates(sql: Sql, { group, members }: Recorded): Promise<void> {
  await putGroupState(sql, group);
  for (const member of members) await putSnapshotState(sql, member);
}

function requireAll({ group, members }: Recorded, cuts: readonly CutSnapshot[]): readonly CutSnapshot[] {
  if (cuts.length === members.length) return cuts;
  throw new Problem(
    'UNAVAILABLE',
    `the storage cut ${cuts.length} of the ${members.length} members of group "${group.id}"`,
  );
}

function afterGroupCut({ group, members }: Recorded, cuts: readonly CutSnapshot[]): Recorded {
  const cut = members.map((member, index) => afterCut(member, cuts[index] ?? unready));
  const ready = cut.every(({ state }) => state === 'ready');
  const createdAtMs = Math.min(...cut.map(member => member.createdAtMs));
  return { group: { ...group, createdAtMs, state: ready ? 'ready' : 'processing' }, members: cut };
}

const unready: CutSnapshot = { sizeBytes: 0, createdAtMs: 0, ready: false };

/** The order of the volumes makes no difference. */
function requireSame(known: Recorded, asked: Recorded): void {
  const { id, name, state, parameters } = known.group;
  if (state === 'deleting') throw new Problem('ABORTED', `group "${id}" is being deleted; try again`);
  if (name !== asked.group.name)
    throw new Problem('ALREADY_EXISTS', `group "${id}" is there with the name "${name}"`);
  const [has, wants] = [known, asked].map(({ members }) => members.map(({ volumeId }) => volumeId).sort());
  if (!sameJson(has, wants)) throw new Problem('ALREADY_EXISTS', `group "${id}" is there with other volumes`);
  if (!sameJson(parameters, asked.group.parameters))
    throw new Problem('ALREADY_EXISTS', `group "${id}" is there with other parameters`);
}
