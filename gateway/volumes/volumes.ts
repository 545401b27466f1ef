import { clusterOf } from '../../src/api/ids.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Validation, ValidationSpec, Volume, VolumePage, VolumeSpec } from '../../src/api/volume.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Intended } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Sql } from '../store.ts';
import { attachmentTable, findAttachments } from '../tables/attachments.ts';
import { volumePage, fromPageToken, type PageQuery } from '../tables/paging.ts';
import { moveReservation } from '../tables/reservations.ts';
import { findVolume, listVolumes, volumeTable, type VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { notFoundProblem } from '../tenancy/ownership.ts';
import { createVolume } from './create.ts';
import { toVolume } from './documents.ts';
import { requireUnneeded } from './sources.ts';
import { readMutableParameters, requireCapabilities } from './validate.ts';

/** The volumes of all clusters; each call names the cluster that asks, and another's volumes are not there for it. */
export interface Volumes {
  /** Makes the volume, or finds that it is there and fits; `created` is false then. */
  create(cluster: Cluster, id: string, spec: VolumeSpec): Promise<{ volume: Volume; created: boolean }>;
  find(cluster: Cluster, id: string): Promise<Volume | undefined>;
  get(cluster: Cluster, id: string): Promise<Volume>;
  list(cluster: Cluster, query: PageQuery): Promise<VolumePage>;
  validate(cluster: Cluster, id: string, spec: ValidationSpec): Promise<Validation>;
  /** Deletes the volume; one that is not there is fine. */
  delete(cluster: Cluster, id: string): Promise<void>;
}

/** Makes the service. */
export function createVolumes(options: ServiceOptions): Volumes {
  const { engine, pools, operations, keepDeletedMs = 0 } = options;

  async function findRecord(cluster: Cluster, id: string): Promise<VolumeRecord | undefined> {
    const record = await findVolume(engine.reader, id);
    return record?.cluster === cluster.name ? record : undefined;
  }

  async function requireRecord(cluster: Cluster, id: string): Promise<VolumeRecord> {
    const record = await findRecord(cluster, id);
    if (!record) throw notFoundProblem({ kind: 'volume', id });
    return record;
  }

  const show = async (record: VolumeRecord): Promise<Volume> =>
    toVolume(record, await findAttachments(engine.reader, record.id));

  /** What is not ready has nothing that anybody could want back. */
  const canKeep = ({ state }: VolumeRecord): boolean => keepDeletedMs > 0 && state === 'ready';

  async function intendDelete(sql: Sql, id: string): Promise<Intended<VolumeRecord, void>> {
    const known = await findVolume(sql, id);
    if (!known) return { result: undefined };
    const nodes = (await findAttachments(sql, id)).map(({ nodeId }) => `"${nodeId}"`);
    if (nodes.length > 0)
      throw new Problem('FAILED_PRECONDITION', `volume "${id}" is attached to node ${nodes.join(', ')}`);
    await requireUnneeded(sql, { kind: 'volume', id });
    if (!canKeep(known)) await volumeTable.update(sql, known, { state: 'deleting' });
    return { intent: known };
  }

  return {
    async find(cluster, id) {
      const record = await findRecord(cluster, id);
      return record && show(record);
    },

    get: async (cluster, id) => show(await requireRecord(cluster, id)),

    async create(cluster, id, spec) {
      const { record, created } = await createVolume(options, { cluster, id, spec });
      return { volume: created ? toVolume(record, []) : await show(record), created };
    },

    async list(cluster, { limit, pageToken }) {
      const afterId = pageToken === undefined ? '' : fromPageToken(cluster.name, pageToken);
      const query = { cluster: cluster.name, afterId, limit: limit + 1 };
      const records = await listVolumes(engine.reader, query);
      const [first, last] = [records[0], records.at(-1)];
      if (!first || !last) return { volumes: [] };
      const between = 'and volume_id between ? and ? order by volume_id, node_id';
      const attachments = await attachmentTable.select(engine.reader, {}, between, first.id, last.id);
      const byVolume = Map.groupBy(attachments, ({ volumeId }) => volumeId);
      return volumePage(
        records.map(record => toVolume(record, byVolume.get(record.id) ?? [])),
        limit,
      );
    },

    async validate(cluster, id, { capabilities, parameters, context, mutableParameters }) {
      const record = await requireRecord(cluster, id);
      const pool = pools.get(record.pool);
      const refuse = (what: string): Validation => ({
        confirmed: false,
        message: `volume "${id}" ${what}`,
      });
      try {
        requireCapabilities(pool, capabilities);
        readMutableParameters(pool, mutableParameters);
      } catch (error) {
        if (error instanceof Problem) return { confirmed: false, message: error.detail };
        throw error;
      }
      const { pool: asked = record.pool, ...own } = parameters ?? {};
      const { pool: _, ...has } = record.spec.parameters ?? {};
      if (asked !== record.pool) return refuse(`is in pool "${record.pool}"`);
      if (parameters && !sameJson(own, has)) return refuse('was made with other parameters');
      if (context && !sameJson(context, record.context)) return refuse('has another context');
      return { confirmed: true };
    },

    async delete(cluster, id) {
      if (clusterOf(id) !== cluster.name) return;
      await operations.run<VolumeRecord, void, void>({
        operation: 'delete',
        subject: undefined,
        claims: [{ kind: 'volume', id }],
        intend: sql => intendDelete(sql, id),
        async act(volume) {
          if (!canKeep(volume)) await pools.get(volume.pool).backend.delete({ id });
        },
        async succeed(sql, { intent }) {
          if (canKeep(intent)) {
            const restorableUntilMs = Date.now() + keepDeletedMs;
            await volumeTable.update(sql, { id }, { state: 'deleted', restorableUntilMs });
          } else {
            await moveReservation(sql, intent, undefined);
            await volumeTable.remove(sql, { id });
          }
        },
        async fail(sql, { intent: { state }, problem }) {
          if (problem.code === 'FAILED_PRECONDITION') await volumeTable.update(sql, { id }, { state });
        },
      });
    },
  };
}
