import { asProblem, problemTable, type Problem } from '../../src/api/problem.ts';
import type { Health, HealthPage } from '../../src/api/volume.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireOffered } from '../pools/features.ts';
import { fromPageToken, type PageQuery, readInPieces, toPageToken } from '../tables/paging.ts';
import { listVolumes, type VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { requireVolume, toKnownVolume } from './record.ts';

/** Most volumes that are looked at for one page, and how many at a time. */
const scanSize = 1_000;
const concurrency = 16;

/** Makes what reports what is wrong with a cluster's volumes, as the storage reports it now. */
export function createVolumesHealth({
  engine,
  pools,
  turns,
}: Pick<ServiceOptions, 'engine' | 'pools' | 'turns'>) {
  /** A volume that is being created or deleted is neither well nor ill, and one in a pool that reports nothing is well. */
  async function ask(volume: VolumeRecord): Promise<Health> {
    const { backend } = pools.get(volume.pool);
    const entries = volume.state === 'ready' ? await backend.volumeHealth?.(toKnownVolume(volume)) : [];
    // One entry for each status and reason (CSI spec, "VolumeHealth"): the first.
    const byKind = Map.groupBy(entries ?? [], ({ status, reason }) => `${status} ${reason}`);
    return { volumeId: volume.id, entries: [...byKind.values()].flatMap(same => same.slice(0, 1)) };
  }

  /** Of one volume. UNIMPLEMENTED where its pool reports nothing. */
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
     * Faulty volumes; a page may be empty and not the last. Pools that fail are left out, unless all fail on the last; one
     * that does not answer is not asked again for the page.
     */
    async list(cluster: Cluster, { limit, pageToken }: PageQuery): Promise<HealthPage> {
      const afterId = fromPageToken(cluster.name, pageToken, 'health');
      const records = await readInPieces({ afterId, limit: scanSize }, (after, count) =>
        turns.take(cluster, () =>
          listVolumes(engine.reader, { cluster: cluster.name, afterId: after, limit: count }),
        ),
      );
      const ill: Health[] = [];
      const failures: unknown[] = [];
      const silent = new Map<string, Problem>();
      const askIfHeard = async (volume: VolumeRecord): Promise<Health> => {
        const known = silent.get(volume.pool);
        if (known) throw known;
        return ask(volume).catch((error: unknown) => {
          const problem = asProblem(error);
          if (!problemTable[problem.code].final) silent.set(volume.pool, problem);
          throw problem;
        });
      };
      for (let done = 0; done < records.length; done += concurrency) {
        const asked = records.slice(done, done + concurrency);
        for (const outcome of await Promise.allSettled(asked.map(askIfHeard))) {
          if (outcome.status === 'rejected') failures.push(outcome.reason);
          else if (outcome.value.entries.length > 0) ill.push(outcome.value);
          const last = ill.at(-1);
          if (last && ill.length === limit) return pageUpTo(last.volumeId, ill);
        }
      }
      const last = records.at(-1);
      if (last && records.length === scanSize) return pageUpTo(last.id, ill);
      if (last && failures.length === records.length) throw asProblem(failures[0]);
      return { volumes: ill };
    },
  };
}

function pageUpTo(lastId: string, volumes: Health[]): HealthPage {
  return { volumes, nextPageToken: toPageToken(lastId, 'health') };
}
