import { clusterOf } from '../../src/api/ids.ts';
import { Problem, problemTable } from '../../src/api/problem.ts';
import type { Snapshot, SnapshotPage, SnapshotSpec } from '../../src/api/snapshot.ts';
import { formatSegments } from '../../src/api/topology.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { CreatedSnapshot, NewSnapshot } from '../backend.ts';
import type { Intended } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireAnyOffers } from '../pools/features.ts';
import type { Sql } from '../store.ts';
import type { Resource } from '../tables/claims.ts';
import { pageOf, fromPageToken, type PageQuery } from '../tables/paging.ts';
import { listSnapshots, snapshotTable, type SnapshotRecord } from '../tables/snapshots.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { notFoundProblem, requireOwn, requireOwnNew } from '../tenancy/ownership.ts';
import { meets, readRequirement, type Requirement } from '../volumes/placement.ts';
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
import { toSnapshot } from './documents.ts';

/** The snapshots of all clusters; another cluster's are not there for the one that asks. */
export interface Snapshots {
  /** Creates the snapshot, or finds that it is there and returns how it goes on; `created` is false then. */
  create(cluster: Cluster, id: string, spec: SnapshotSpec): Promise<{ snapshot: Snapshot; created: boolean }>;
  find(cluster: Cluster, id: string): Promise<Snapshot | undefined>;
  get(cluster: Cluster, id: string): Promise<Snapshot>;
  /** Those that are created, of one volume or of all. */
  list(
    cluster: Cluster,
    query: PageQuery & { readonly volumeId?: string | undefined },
  ): Promise<SnapshotPage>;
  /** INVALID_ARGUMENT for a member of a group; one that is not there is fine. */
  delete(cluster: Cluster, id: string): Promise<void>;
}

type Asked = Pick<SnapshotRecord, 'id' | 'cluster' | 'name' | 'volumeId'> & {
  readonly parameters: Readonly<Record<string, string>> | undefined;
  readonly requirement: Requirement;
};
type Creating = { readonly record: SnapshotRecord; readonly snapshot: NewSnapshot };
type Created = { readonly record: SnapshotRecord; readonly created: boolean };

/** Makes the service. */
export function createSnapshots({ engine, pools, operations }: ServiceOptions): Snapshots {
  const requireAny = (): void => requireAnyOffers(pools, 'snapshots', 'snapshots');

  async function find(cluster: Cluster, id: string): Promise<Snapshot | undefined> {
    requireAny();
    const record = await snapshotTable.find(engine.reader, { id });
    return record?.cluster === cluster.name ? toSnapshot(record) : undefined;
  }

  /** The volume stays claimed until the snapshot is created, and is not deleted before the snapshot is ready. */
  async function intendCreate(
    sql: Sql,
    { requirement, ...asked }: Asked,
    { spaces, bytesOf }: Measured,
  ): Promise<Intended<Creating, Created>> {
    const known = await snapshotTable.find(sql, asked);
    if (known && !meets(known.segments, requirement)) throw elsewhereProblem('ALREADY_EXISTS', known);
    if (known) requireSame(known, readAsked(asked, known.pool));
    if (known?.state === 'ready') return { result: { record: known, created: false } };
    const volume = await requireReadyVolume(sql, asked.volumeId);
    const reservedBytes = bytesOf.get(volume.id) ?? volume.sizeBytes;
    const record = known ?? newSnapshotRecord(readAsked(asked, volume.pool), volume, { reservedBytes });
    if (!meets(record.segments, requirement)) throw elsewhereProblem('RESOURCE_EXHAUSTED', record);
    if (!known) await recordSnapshot(sql, record, { pool: pools.get(record.pool), spaces });
    return { intent: { record, snapshot: await toNewSnapshot(sql, record, volume) } };
  }

  function readAsked<T extends Pick<Asked, 'parameters'>>(
    asked: T,
    pool: string,
  ): T & Pick<SnapshotRecord, 'parameters'> {
    const { parameters: schema } = requireSnapshots(pools.get(pool));
    return { ...asked, parameters: readParameters(schema, asked.parameters) };
  }

  return {
    find,

    async get(cluster, id) {
      const snapshot = await find(cluster, id);
      if (!snapshot) throw notFoundProblem({ kind: 'snapshot', id });
      return snapshot;
    },

    async create(cluster, id, { name, volumeId, parameters, topology }) {
      requireAny();
      const resource: Resource = { kind: 'snapshot', id };
      const source: Resource = { kind: 'volume', id: volumeId };
      requireOwnNew(cluster, resource);
      requireOwn(cluster, source);
      const requirement = readRequirement(topology);
      const asked: Asked = { id, cluster: cluster.name, name, volumeId, parameters, requirement };
      const measured = await measureSnapshots({ engine, pools }, [volumeId]);
      const { record, created } = await operations.run<Creating, CreatedSnapshot, Created>({
        operation: 'snapshot',
        subject: asked,
        claims: [resource, source],
        intend: sql => intendCreate(sql, asked, measured),
        act({ record: before, snapshot }) {
          const backend = requireSnapshots(pools.get(before.pool));
          return createOrUndo(
            () => backend.create(snapshot),
            async () => before.state === 'creating' && backend.delete({ id }),
          );
        },
        async succeed(sql, { intent, effect }) {
          const now = await recordCreated(sql, intent.record, effect);
          return { record: now, created: intent.record.state === 'creating' };
        },
        async fail(sql, { intent, problem }) {
          // One that was created stays, so that whoever knows of it can delete it.
          if (problemTable[problem.code].final && intent.record.state === 'creating')
            await forgetSnapshot(sql, intent.record);
        },
      });
      return { snapshot: toSnapshot(record), created };
    },

    async list(cluster, { limit, pageToken, volumeId }) {
      requireAny();
      const { name } = cluster;
      const afterId = pageToken === undefined ? '' : fromPageToken(name, pageToken, 'snapshots');
      const query = { cluster: name, volumeId, afterId, limit: limit + 1 };
      const records = await listSnapshots(engine.reader, query);
      const { entries, nextPageToken } = pageOf(records.map(toSnapshot), limit, 'snapshots');
      return { snapshots: [...entries], ...(nextPageToken !== undefined && { nextPageToken }) };
    },

    async delete(cluster, id) {
      requireAny();
      if (clusterOf(id) !== cluster.name) return;
      await operations.run<SnapshotRecord, void, void>({
        operation: 'delete',
        subject: undefined,
        claims: [{ kind: 'snapshot', id }],
        intend: sql => intendDelete(sql, id),
        act: ({ pool }) => requireSnapshots(pools.get(pool)).delete({ id }),
        succeed: (sql, { intent }) => forgetSnapshot(sql, intent),
        async fail(sql, { intent: { state }, problem }) {
          if (problem.code === 'FAILED_PRECONDITION') await snapshotTable.update(sql, { id }, { state });
        },
      });
    },
  };
}

async function intendDelete(sql: Sql, id: string): Promise<Intended<SnapshotRecord, void>> {
  const known = await snapshotTable.find(sql, { id });
  if (!known) return { result: undefined };
  if (known.groupId !== undefined)
    throw new Problem('INVALID_ARGUMENT', `snapshot "${id}" belongs to group "${known.groupId}"`);
  await requireUnneeded(sql, { kind: 'snapshot', id });
  await snapshotTable.update(sql, known, { state: 'deleting' });
  return { intent: known };
}

function elsewhereProblem(code: 'ALREADY_EXISTS' | 'RESOURCE_EXHAUSTED', record: SnapshotRecord): Problem {
  const { id, volumeId, segments = {} } = record;
  const where = `"${formatSegments(segments)}", which is not where it is asked for`;
  return code === 'ALREADY_EXISTS'
    ? new Problem(code, `snapshot "${id}" is there, in ${where}`)
    : new Problem(code, `snapshot "${id}" can only be where volume "${volumeId}" is: in ${where}`);
}

function requireSame(
  known: SnapshotRecord,
  asked: Pick<SnapshotRecord, 'name' | 'volumeId' | 'parameters'>,
): void {
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
