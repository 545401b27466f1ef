import type { Health, HealthPage } from '../../src/api/volume.ts';
import type { HealthEntry } from '../backend.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireAnyOffers, requireOffered } from '../pools/features.ts';
import { fromPageToken, toPageToken, type PageQuery } from '../tables/paging.ts';
import { findVolume, listVolumes, type VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { notFoundProblem } from '../tenancy/ownership.ts';
import { toKnownVolume } from './documents.ts';

/** What is wrong with a cluster's volumes, as the storage reports it now. */
export interface VolumesHealth {
  get(cluster: Cluster, id: string): Promise<Health>;
  /** Only volumes with which something is wrong; a page may have none of them and yet be followed by another. */
  list(cluster: Cluster, query: PageQuery): Promise<HealthPage>;
}

/** Most volumes that are looked at for one page, and how many at a time. */
const scanSize = 1_000;
const concurrency = 16;

/** Makes the service. */
export function createVolumesHealth({
  engine,
  pools,
}: Pick<ServiceOptions, 'engine' | 'pools'>): VolumesHealth {
  const requireAny = (): void => requireAnyOffers(pools, 'health', 'health of volumes');

  /** A volume that is being created or deleted is neither well nor ill, and one in a pool that reports nothing is well. */
  async function ask(volume: VolumeRecord): Promise<Health> {
    const { backend } = pools.get(volume.pool);
    const entries = volume.state === 'ready' ? await backend.volumeHealth?.(toKnownVolume(volume)) : [];
    return { volumeId: volume.id, entries: unique(entries ?? []) };
  }

  return {
    async get(cluster, id) {
      requireAny();
      const volume = await findVolume(engine.reader, id);
      if (volume?.cluster !== cluster.name) throw notFoundProblem({ kind: 'volume', id });
      const pool = pools.get(volume.pool);
      requireOffered(pool, pool.backend.volumeHealth, 'health of volumes');
      return ask(volume);
    },

    async list(cluster, { limit, pageToken }) {
      requireAny();
      const afterId = pageToken === undefined ? '' : fromPageToken(cluster.name, pageToken, 'health');
      const records = await listVolumes(engine.reader, { cluster: cluster.name, afterId, limit: scanSize });
      const ill: Health[] = [];
      for (let done = 0; done < records.length; done += concurrency) {
        const asked = records.slice(done, done + concurrency);
        for (const health of await Promise.all(asked.map(ask))) {
          if (health.entries.length > 0) ill.push(health);
          if (ill.length === limit) return pageUpTo(health.volumeId, ill);
        }
      }
      const last = records.at(-1);
      return last && records.length === scanSize ? pageUpTo(last.id, ill) : { volumes: ill };
    },
  };
}

function pageUpTo(lastId: string, volumes: Health[]): HealthPage {
  return { volumes, nextPageToken: toPageToken(lastId, 'health') };
}

/** One entry for each status and reason (CSI spec, "VolumeHealth"): the first. */
function unique(entries: readonly HealthEntry[]): HealthEntry[] {
  const byKind = Map.groupBy(entries, ({ status, reason }) => `${status} ${reason}`);
  return [...byKind.values()].flatMap(same => same.slice(0, 1));
}
