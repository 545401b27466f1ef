import { clusterOf } from '../../src/api/ids.ts';
import { Problem, problemTable } from '../../src/api/problem.ts';
import type { Snapshot, SnapshotPage, SnapshotSpec } from '../../src/api/snapshot.ts';
import { showSegments } from '../../src/api/topology.ts';
import type { CutSnapshot, NewSnapshot, Snapshots as BackendSnapshots } from '../backend.ts';
import { requireReady } from '../volumes/expand.ts';
import { requireOffered } from '../volumes/features.ts';
import { sameJson } from '../../src/lib/json.ts';
import { notFound, requireOwn, requireOwnNew } from '../tenancy/ownership.ts';
import { cutEntries, fromPageToken, type PageQuery } from '../tables/paging.ts';
import { dropClaim, takeClaim, type Claim, type Resource } from '../tables/claims.ts';
import {
  findSnapshot,
  insertSnapshot,
  listSnapshots,
  putSnapshotState,
  removeSnapshot,
  type SnapshotRecord,
} from '../tables/snapshots.ts';
import { findVolume, type VolumeRecord } from '../tables/volumes.ts';
import { checkParameters } from '../volumes/validate.ts';
import { toKnownVolume, toSnapshot } from '../volumes/documents.ts';
import { isWritable, requireUnneeded } from '../volumes/sources.ts';
import type { Reader, Sql } from '../store.ts';
import { meets, readRequirement, type Requirement } from '../volumes/placement.ts';
import type { ServiceOptions } from '../volumes/volumes.ts';
import { requireHeld, type Intended } from '../operations/operation.ts';

/** The snapshots of all clusters; another cluster's are not there for the one that asks. */
export interface Snapshots {
  /** Cuts the snapshot, or finds that it is there and tells how it goes on; `created` is false then. */
  create(cluster: string, id: string, spec: SnapshotSpec): Promise<{ snapshot: Snapshot; created: boolean }>;
  find(cluster: string, id: string): Promise<Snapshot | undefined>;
  get(cluster: string, id: string): Promise<Snapshot>;
  /** Those that are cut, of one volume or of all. */
  list(cluster: string, query: PageQuery & { readonly volumeId?: string | undefined }): Promise<SnapshotPage>;
  /** INVALID_ARGUMENT for a member of a group; one that is not there is fine. */
  delete(cluster: string, id: string): Promise<void>;
}

type Cutting = { readonly record: SnapshotRecord; readonly snapshot: NewSnapshot };
type Asked = { readonly record: SnapshotRecord; readonly requirement: Requirement };
type Cut = { readonly record: SnapshotRecord; readonly created: boolean };

/** Makes the service. */
export function createSnapshots({ engine, backend, work }: ServiceOptions): Snapshots {
  const offered = (): BackendSnapshots => requireOffered(backend, backend.snapshots, 'snapshots');

  async function find(cluster: string, id: string): Promise<Snapshot | undefined> {
    offered();
    const record = await findSnapshot(engine.reader, id);
    return record?.cluster === cluster ? toSnapshot(record) : undefined;
  }

  /** The volume stays claimed until the snapshot is cut, and is not deleted before the snapshot is ready. */
  async function intendCut(
    sql: Sql,
    { record: asked, requirement }: Asked,
    claim: Claim,
  ): Promise<Intended<Cutting, Cut>> {
    const known = await findSnapshot(sql, asked.id);
    if (known) requireSame(known, asked);
    if (known && !meets(known.place, requirement)) throw elsewhere('ALREADY_EXISTS', known);
    if (known?.state === 'ready') return { result: { record: known, created: false } };
    const source: Resource = { kind: 'volume', id: asked.volumeId };
    const volume = requireReady(source, await findVolume(sql, source.id));
    for (const resource of known ? [known, volume] : [volume]) work.requireFree(resource);
    const record = known ?? { ...asked, place: volume.place };
    if (!meets(record.place, requirement)) throw elsewhere('RESOURCE_EXHAUSTED', record);
    if (!known) await insertSnapshot(sql, record);
    for (const resource of [record, volume]) await takeClaim(sql, resource, claim);
    return { intent: { record, snapshot: await toNewSnapshot(sql, record, volume) } };
  }

  async function intendDelete(sql: Sql, id: string, claim: Claim): Promise<Intended<SnapshotRecord, void>> {
    const known = await findSnapshot(sql, id);
    if (!known) return { result: undefined };
    if (known.groupId !== undefined)
      throw new Problem('INVALID_ARGUMENT', `snapshot "${id}" belongs to group "${known.groupId}"`);
    work.requireFree(known);
    await requireUnneeded(sql, known);
    await putSnapshotState(sql, { ...known, state: 'deleting' });
    await takeClaim(sql, known, claim);
    return { intent: known };
  }

  return {
    find,

    async get(cluster, id) {
      const snapshot = await find(cluster, id);
      if (!snapshot) throw notFound({ kind: 'snapshot', id });
      return snapshot;
    },

    async create(cluster, id, { name, volumeId, parameters, topology }) {
      const { create, delete: remove, parameters: schema } = offered();
      const resource: Resource = { kind: 'snapshot', id };
      const source: Resource = { kind: 'volume', id: volumeId };
      requireOwnNew(cluster, resource);
      requireOwn(cluster, source);
      const known = checkParameters({ parameters: schema }, parameters);
      const requirement = readRequirement(topology);
      const asNew = newSnapshotRecord({ id, cluster, name, volumeId, parameters: known });
      const { record, created } = await work.run<Cutting, CutSnapshot, Cut>({
        resources: [resource, source],
        operation: 'snapshot',
        subject: { name, volumeId, parameters: known, requirement },
        intend: (sql, claim) => intendCut(sql, { record: asNew, requirement }, claim),
        act: ({ record: before, snapshot }) =>
          cutOrUndo(
            () => create(snapshot),
            async () => before.state === 'cutting' && remove({ id }),
          ),
        async succeed(sql, { intent, effect }) {
          for (const held of [resource, source]) requireHeld(await dropClaim(sql, held, work.owner), held);
          const cut = afterCut(intent.record, effect);
          await putSnapshotState(sql, cut);
          return { record: cut, created: intent.record.state === 'cutting' };
        },
        async fail(sql, { intent, problem }) {
          for (const held of [resource, source]) await dropClaim(sql, held, work.owner);
          // One that was cut stays, so that whoever knows of it can delete it.
          if (problemTable[problem.code].final && intent.record.state === 'cutting')
            await removeSnapshot(sql, id);
        },
      });
      return { snapshot: toSnapshot(record), created };
    },

    async list(cluster, { limit, pageToken, volumeId }) {
      offered();
      const afterId = pageToken === undefined ? '' : fromPageToken(cluster, pageToken, 'snapshots');
      const records = await listSnapshots(engine.reader, { cluster, volumeId, afterId, limit: limit + 1 });
      const { entries, nextPageToken } = cutEntries(records.map(toSnapshot), limit, 'snapshots');
      return { snapshots: [...entries], ...(nextPageToken !== undefined && { nextPageToken }) };
    },

    async delete(cluster, id) {
      const { delete: remove } = offered();
      const resource: Resource = { kind: 'snapshot', id };
      if (clusterOf(id) !== cluster) return;
      await work.run<SnapshotRecord, void, void>({
        resources: [resource],
        operation: 'delete',
        subject: undefined,
        intend: (sql, claim) => intendDelete(sql, id, claim),
        act: () => remove({ id }),
        async succeed(sql) {
          requireHeld(await dropClaim(sql, resource, work.owner), resource);
          await removeSnapshot(sql, id);
        },
        async fail(sql, { intent, problem }) {
          await dropClaim(sql, resource, work.owner);
          if (problem.code === 'FAILED_PRECONDITION') await putSnapshotState(sql, intent);
        },
      });
    },
  };
}

/** A snapshot as it is recorded at first. */
export function newSnapshotRecord(
  asked: Pick<SnapshotRecord, 'id' | 'cluster' | 'name' | 'volumeId' | 'parameters'>,
  group?: Pick<SnapshotRecord, 'groupId' | 'member'>,
): SnapshotRecord {
  return {
    ...asked,
    kind: 'snapshot',
    groupId: group?.groupId,
    member: group?.member ?? 0,
    state: 'cutting',
    sizeBytes: 0,
    createdAtMs: Date.now(),
    place: undefined,
    claim: undefined,
  };
}

/** What the backend is to cut; the volume is claimed, so that nothing is attached meanwhile. */
export async function toNewSnapshot(
  sql: Reader,
  { id, parameters }: SnapshotRecord,
  volume: VolumeRecord,
): Promise<NewSnapshot> {
  const attachedForWriting = await isWritable(sql, volume.id);
  return { id, volume: toKnownVolume(volume), attachedForWriting, parameters };
}

/** The record of a snapshot that was cut. */
export function afterCut(
  record: SnapshotRecord,
  { sizeBytes, createdAtMs, ready }: CutSnapshot,
): SnapshotRecord {
  return { ...record, sizeBytes, createdAtMs, state: ready ? 'ready' : 'processing' };
}

/** Cuts. After a failure that is final nothing is left behind, also of what an earlier try may have done. */
export async function cutOrUndo<T>(cut: () => Promise<T>, undo: () => Promise<unknown>): Promise<T> {
  try {
    return await cut();
  } catch (error) {
    if (error instanceof Problem && problemTable[error.code].final) await undo();
    throw error;
  }
}

function elsewhere(code: 'ALREADY_EXISTS' | 'RESOURCE_EXHAUSTED', record: SnapshotRecord): Problem {
  const { id, volumeId, place = {} } = record;
  const where = `"${showSegments(place)}", which is not where it is asked for`;
  return code === 'ALREADY_EXISTS'
    ? new Problem(code, `snapshot "${id}" is there, in ${where}`)
    : new Problem(code, `snapshot "${id}" can only be where volume "${volumeId}" is: in ${where}`);
}

function requireSame(known: SnapshotRecord, asked: SnapshotRecord): void {
  const there = `snapshot "${known.id}" is there`;
  if (known.groupId !== undefined)
    throw new Problem('ALREADY_EXISTS', `${there} as a member of group "${known.groupId}"`);
  if (known.state === 'deleting')
    throw new Problem('ABORTED', `snapshot "${known.id}" is being deleted; try again`);
  if (known.name !== asked.name)
    throw new Problem('ALREADY_EXISTS', `${there} with the name "${known.name}"`);
  if (known.volumeId !== asked.volumeId)
    throw new Problem('ALREADY_EXISTS', `${there}, of volume "${known.volumeId}"`);
  if (!sameJson(known.parameters, asked.parameters))
    throw new Problem('ALREADY_EXISTS', `${there} with other parameters`);
}
