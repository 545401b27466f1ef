import { clusterOf } from '../../src/api/ids.ts';
import { Problem } from '../../src/api/problem.ts';
import { isForReaders } from '../../src/api/storage.ts';
import type { Validation, ValidationSpec, Volume, VolumePage, VolumeSpec } from '../../src/api/volume.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { listAttachments, type ShownAttachment } from '../tables/attachments.ts';
import { fromPageToken, type PageQuery, readAllInPieces, readPage } from '../tables/paging.ts';
import type { VolumeRecord } from '../tables/volumes.ts';
import { hasAccess, notOwnerProblem, requireGranted } from '../callers/access.ts';
import type { Cluster } from '../callers/cluster.ts';
import { createVolume } from './create.ts';
import { deleteVolume, type ForeseenDeletion, foreseeDeletion, undoVolume } from './delete.ts';
import { parametersOf, requireVisible } from './record.ts';
import { showVolume, showVolumes, toVolume } from './show.ts';
import { readAll, readMutableParameters, requireCapabilities } from './validate.ts';

/** Up to so many attachments are read together with their volume. More are read in their own time slices. */
const fewAttachments = 50;

/**
 * Creates the volumes of all clusters. Each call names the calling cluster, which does not see other clusters'
 * volumes.
 */
export function createVolumes(options: ServiceOptions) {
  const { engine, pools, slices } = options;

  /** Reads the cluster's own attachments of the volume, a few at a time. */
  function readAttachments(cluster: Cluster, volumeId: string): Promise<readonly ShownAttachment[]> {
    const own = { volumeId, cluster: cluster.name };
    const pieces = readAllInPieces<ShownAttachment>((last, limit) =>
      slices.take(cluster, () =>
        listAttachments(engine.reader, own, { afterNodeId: last?.nodeId ?? '', limit }),
      ),
    );
    return Array.fromAsync(pieces);
  }

  return {
    async get(cluster: Cluster, id: string): Promise<Volume> {
      const { volume, grant } = await requireVisible(engine.reader, cluster, id);
      const own = { volumeId: id, cluster: cluster.name };
      const first = { afterNodeId: '', limit: fewAttachments + 1 };
      const few = await listAttachments(engine.reader, own, first);
      const isAtMany = few.length > fewAttachments;
      const attachments = isAtMany ? await readAttachments(cluster, id) : few;
      const show = (): Promise<Volume> => showVolume(options, volume, { grant, attachments });
      return isAtMany || volume.shared ? slices.take(cluster, show) : show();
    },

    /** Creates the volume, or finds an existing one that fits. `created` is false for an existing one. */
    async create(cluster: Cluster, id: string, spec: VolumeSpec) {
      const { record, created } = await createVolume(options, { cluster, id, spec });
      return { volume: created ? toVolume(record, []) : await showVolume(options, record), created };
    },

    async list(cluster: Cluster, { limit, pageToken }: PageQuery): Promise<VolumePage> {
      // The last volume of a page may be another cluster's, so the token names the cluster.
      const list = `volumes/${cluster.name}` as const;
      const afterId = fromPageToken(undefined, pageToken, list);
      const of = { cluster: cluster.name, sharesFrom: cluster.sharesFrom ?? [] };
      const { entries, ...rest } = await readPage({ afterId, limit, list }, (after, count) =>
        showVolumes(options, { ...of, afterId: after, limit: count }, piece => slices.take(cluster, piece)),
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
          capabilities: () =>
            requireCapabilities(pool, capabilities, { isNew: false, parameters: record.spec.parameters }),
          mutableParameters: () => readMutableParameters(pool, mutableParameters),
        });
      } catch (error) {
        if (error instanceof Problem) return refuse(error.detail);
        throw error;
      }
      const { pool: requested = record.pool, ...own } = parameters ?? {};
      if (requested !== record.pool) return refuse(`volume "${id}" is in pool "${record.pool}"`);
      if (parameters && !sameJson(own, parametersOf(record)))
        return refuse(`volume "${id}" was made with other parameters`);
      if (context && !sameJson(context, record.context)) return refuse(`volume "${id}" has another context`);
      return { confirmed: true };
    },

    /** Deletes the volume. If there is no such volume, nothing happens. */
    async delete(cluster: Cluster, id: string): Promise<void> {
      if (!(await hasAccess(engine.reader, cluster, id))) return;
      if (clusterOf(id) !== cluster.name) throw notOwnerProblem({ kind: 'volume', id });
      await deleteVolume(options, id);
    },

    foreseeDeletion: (deletion: ForeseenDeletion) => foreseeDeletion(options, deletion),

    /** Deletes the unfinished volume of this record. A finished volume stays. */
    async undo(record: VolumeRecord): Promise<void> {
      await options.operations.run(undoVolume(options.pools, record, ['creating', 'deleting']));
    },
  };
}

function refuse(message: string): Validation {
  return { confirmed: false, message };
}
