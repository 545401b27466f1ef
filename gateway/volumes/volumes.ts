import { clusterOf } from '../../src/api/ids.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Validation, ValidationSpec, Volume, VolumePage, VolumeSpec } from '../../src/api/volume.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { findAttachments, findAttachmentsOf } from '../tables/attachments.ts';
import { fromPageToken, type PageQuery, readPage } from '../tables/paging.ts';
import { listVolumes, type VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { createVolume } from './create.ts';
import { deleteVolume, undoVolume } from './delete.ts';
import { requireVolume, toKnownVolume, toVolume } from './record.ts';
import { readAll, readMutableParameters, requireCapabilities } from './validate.ts';

/** Makes the volumes of all clusters; each call names the cluster that asks, and another's volumes are not there for it. */
export function createVolumes(options: ServiceOptions) {
  const { engine, pools, turns } = options;

  const show = async (record: VolumeRecord): Promise<Volume> =>
    toVolume(record, await findAttachments(engine.reader, record.id));

  async function showSome(query: Parameters<typeof listVolumes>[1]): Promise<readonly Volume[]> {
    const records = await listVolumes(engine.reader, query);
    const attachments = await findAttachmentsOf(engine.reader, records);
    return records.map(record => toVolume(record, attachments.get(record.id) ?? []));
  }

  return {
    get: async (cluster: Cluster, id: string): Promise<Volume> =>
      show(await requireVolume(engine.reader, cluster, id)),

    /** Creates the volume, or finds that it is there and fits; `created` is false then. */
    async create(cluster: Cluster, id: string, spec: VolumeSpec) {
      const { record, created } = await createVolume(options, { cluster, id, spec });
      return { volume: created ? toVolume(record, []) : await show(record), created };
    },

    async list(cluster: Cluster, { limit, pageToken }: PageQuery): Promise<VolumePage> {
      const afterId = fromPageToken(cluster.name, pageToken, 'volumes');
      const { entries, ...rest } = await readPage({ afterId, limit, list: 'volumes' }, (after, count) =>
        turns.take(cluster, () => showSome({ cluster: cluster.name, afterId: after, limit: count })),
      );
      return { volumes: entries, ...rest };
    },

    async validate(
      cluster: Cluster,
      id: string,
      { capabilities, parameters, context, mutableParameters }: ValidationSpec,
    ): Promise<Validation> {
      const record = await requireVolume(engine.reader, cluster, id);
      const pool = pools.get(record.pool);
      try {
        readAll({
          capabilities: () => requireCapabilities(pool, capabilities),
          mutableParameters: () => readMutableParameters(pool, mutableParameters),
        });
      } catch (error) {
        if (error instanceof Problem) return refuse(error.detail);
        throw error;
      }
      const { pool: asked = record.pool, ...own } = parameters ?? {};
      if (asked !== record.pool) return refuse(`volume "${id}" is in pool "${record.pool}"`);
      if (parameters && !sameJson(own, toKnownVolume(record).parameters))
        return refuse(`volume "${id}" was made with other parameters`);
      if (context && !sameJson(context, record.context)) return refuse(`volume "${id}" has another context`);
      return { confirmed: true };
    },

    /** Deletes the volume; one that is not there is fine. */
    async delete(cluster: Cluster, id: string): Promise<void> {
      if (clusterOf(id) !== cluster.name) return;
      await deleteVolume(options, id);
    },

    /** Removes what was begun under this record and never finished; what is more than begun stays. */
    async undo(record: VolumeRecord): Promise<void> {
      await options.operations.run(undoVolume(options.pools, record, ['creating', 'deleting']));
    },
  };
}

function refuse(message: string): Validation {
  return { confirmed: false, message };
}
