import { asProblem, problemTable, type Problem } from '../../src/api/problem.ts';
import type { Health, HealthPage } from '../../src/api/volume.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireOffered } from '../pools/features.ts';
import { fromPageToken, type PageQuery, readInPieces, toPageToken } from '../tables/paging.ts';
import { listVolumes, type VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../callers/cluster.ts';
import { requireVolume, toKnownVolume } from './record.ts';

/** The number of volumes to check for one page, and how many at the same time. */
const scanSize = 1_000;
const concurrency = 16;

/** Creates the reports of the faults of a cluster's volumes, as the storage reports them now. */
export function createVolumesHealth({
  engine,
  pools,
  slices,
}: Pick<ServiceOptions, 'engine' | 'pools' | 'slices'>) {
  /**
   * Reads the health. A volume that is being created or deleted has no faults, nor has one in a pool that
   * reports none.
   */
  async function ask(volume: VolumeRecord): Promise<Health> {
    const { backend } = pools.get(volume.pool);
    const entries = volume.state === 'ready' ? await backend.volumeHealth?.(toKnownVolume(volume)) : [];
    // One entry for each status and reason (CSI spec, "VolumeHealth"): the first.
    const byKind = Map.groupBy(entries ?? [], ({ status, reason }) => `${status} ${reason}`);
    return { volumeId: volume.id, entries: [...byKind.values()].flatMap(same => same.slice(0, 1)) };
  }

  async function find(volume: VolumeRecord): Promise<Health> {
    const pool = pools.get(volume.pool);
    requireOffered(pool, pool.backend.volumeHealth, 'health of volumes');
    return ask(volume);
  }

  return {
    find,

    get: async (cluster: Cluster, id: string): Promise<Health> =>
      find(await requireVolume(engine.reader, cluster, id)),

    /**
     * Lists the volumes with faults. A page may be empty without being the last. Pools that fail are left
     * out, unless all volumes fail on the last page. A pool that does not answer is asked only once for a
     * page.
     */
    async list(cluster: Cluster, { limit, pageToken }: PageQuery): Promise<HealthPage> {
      const afterId = fromPageToken(cluster.name, pageToken, 'health');
      const records = await readInPieces({ afterId, limit: scanSize }, (after, count) =>
        slices.take(cluster, () =>
          listVolumes(engine.reader, { cluster: cluster.name, afterId: after, limit: count }),
        ),
      );
      const faulty: Health[] = [];
      const failures: unknown[] = [];
      const silent = new Map<string, Problem>();
      const askUnlessSilent = async (volume: VolumeRecord): Promise<Health> => {
        const known = silent.get(volume.pool);
        if (known) throw known;
        return ask(volume).catch((error: unknown) => {
          const problem = asProblem(error);
          if (!problemTable[problem.code].final) silent.set(volume.pool, problem);
          throw problem;
        });
      };
      for (let done = 0; done < records.length; done += concurrency) {
        const batch = records.slice(done, done + concurrency);
        for (const outcome of await Promise.allSettled(batch.map(askUnlessSilent))) {
          if (outcome.status === 'rejected') failures.push(outcome.reason);
          else if (outcome.value.entries.length > 0) faulty.push(outcome.value);
          const last = faulty.at(-1);
          if (last && faulty.length === limit) return pageUpTo(last.volumeId, faulty);
        }
      }
      const last = records.at(-1);
      if (last && records.length === scanSize) return pageUpTo(last.id, faulty);
      if (last && failures.length === records.length) throw asProblem(failures[0]);
      return { volumes: faulty };
    },
  };
}

function pageUpTo(lastId: string, volumes: Health[]): HealthPage {
  return { volumes, nextPageToken: toPageToken(lastId, 'health') };
}
