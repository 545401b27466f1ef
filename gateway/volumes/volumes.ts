import { clusterOf } from '../../src/api/ids.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Validation, ValidationSpec, Volume, VolumePage, VolumeSpec } from '../../src/api/volume.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { fromPageToken, type PageQuery, readPage } from '../tables/paging.ts';
import type { VolumeRecord } from '../tables/volumes.ts';
import { hasAccess, notOwnerProblem, requireGranted } from '../tenancy/access.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { createVolume } from './create.ts';
import { deleteVolume, undoVolume } from './delete.ts';
import { requireVisible, toKnownVolume, toVolume } from './record.ts';
import { showVolume, showVolumes } from './show.ts';
import { isForReaders, readAll, readMutableParameters, requireCapabilities } from './validate.ts';

/** Makes the volumes of all clusters; each call names the cluster that asks, and another's volumes are not there for it. */
export function createVolumes(options: ServiceOptions) {
  const { engine, pools, turns } = options;

  return {
    /** The cluster's own, or one that is shared with it. */
    async get(cluster: Cluster, id: string): Promise<Volume> {
      const { volume, grant } = await requireVisible(engine.reader, cluster, id);
      return showVolume(engine.reader, volume, grant);
    },

    /** Creates the volume, or finds that it is there and fits; `created` is false then. */
    async create(cluster: Cluster, id: string, spec: VolumeSpec) {
      const { record, created } = await createVolume(options, { cluster, id, spec });
      return { volume: created ? toVolume(record, []) : await showVolume(engine.reader, record), created };
    },

    /** The cluster's own, and those that are shared with it. */
    async list(cluster: Cluster, { limit, pageToken }: PageQuery): Promise<VolumePage> {
      // The last volume of a page may be another's: the token itself names the cluster.
      const list = `volumes/${cluster.name}` as const;
      const afterId = fromPageToken(undefined, pageToken, list);
      const { entries, ...rest } = await readPage({ afterId, limit, list }, (after, count) =>
        turns.take(cluster, () =>
          showVolumes(engine.reader, { cluster: cluster.name, afterId: after, limit: count }),
        ),
      );
      return { volumes: entries, ...rest };
    },

    async validate(
      cluster: Cluster,
      id: string,
      { capabilities, parameters, context, mutableParameters }: ValidationSpec,
    ): Promise<Validation> {
      const { volume: record, grant } = await requireVisible(engine.reader, cluster, id);
      const pool = pools.get(record.pool);
      try {
        if (grant) for (const one of capabilities) requireGranted(grant, isForReaders(one));
        readAll({
          capabilities: () => requireCapabilities(pool, capabilities, record.spec.parameters),
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
      if (!(await hasAccess(engine.reader, cluster, id))) return;
      if (clusterOf(id) !== cluster.name) throw notOwnerProblem(id);
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
