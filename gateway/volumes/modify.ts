import { problemTable } from '../../src/api/problem.ts';
import type { Volume } from '../../src/api/volume.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Modification as BackendModification } from '../backend.ts';
import type { Intended } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireAnyOffers, requireOffered } from '../pools/features.ts';
import type { Sql } from '../store.ts';
import { findAttachments } from '../tables/attachments.ts';
import { volumeTable, type VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { requireOwn } from '../tenancy/ownership.ts';
import { toKnownVolume, toVolume } from './documents.ts';
import { requireReadyVolume } from './ready.ts';
import { readParameters } from './validate.ts';

/** Changes what can be changed of volumes that are there. */
export interface Modification {
  /** Gives these parameters to the volume, or finds that it has them; others stay as they are. */
  modify(cluster: Cluster, id: string, parameters: Parameters): Promise<Volume>;
}

type Parameters = Readonly<Record<string, string>>;
type Modifying = { readonly volume: VolumeRecord; readonly parameters: Parameters };

/** Makes the service. */
export function createModification({ engine, pools, operations }: ServiceOptions): Modification {
  function offered({ pool: name }: VolumeRecord): BackendModification {
    const pool = pools.get(name);
    return requireOffered(pool, pool.backend.modification, 'modification of volumes');
  }

  /** What was begun before and did not end is applied together with what is asked now. */
  async function intend(sql: Sql, id: string, given: Parameters): Promise<Intended<Modifying, VolumeRecord>> {
    const volume = await requireReadyVolume(sql, id);
    const asked = readParameters(offered(volume).parameters, given, 'mutableParameters');
    const begun = volume.pending.modification;
    const has = sameJson(volume.mutableParameters, { ...volume.mutableParameters, ...asked });
    if (has && !begun) return { result: volume };
    const parameters = { ...begun, ...asked };
    await volumeTable.update(sql, volume, { pending: { ...volume.pending, modification: parameters } });
    return { intent: { volume, parameters } };
  }

  return {
    async modify(cluster, id, given) {
      requireAnyOffers(pools, 'modify', 'modification of volumes');
      requireOwn(cluster, { kind: 'volume', id });
      const modified = await operations.run<Modifying, void, VolumeRecord>({
        operation: 'modify',
        subject: given,
        claims: [{ kind: 'volume', id }],
        intend: sql => intend(sql, id, given),
        act: ({ volume, parameters }) => offered(volume).apply(toKnownVolume(volume), parameters),
        async succeed(sql, { intent: { volume, parameters } }) {
          const mutableParameters = { ...volume.mutableParameters, ...parameters };
          const pending = { ...volume.pending, modification: undefined };
          await volumeTable.update(sql, { id }, { mutableParameters, pending });
          return { ...volume, mutableParameters, pending };
        },
        async fail(sql, { intent: { volume, parameters }, problem }) {
          if (!problemTable[problem.code].final) return;
          // What was begun before with other parameters may have been done, and is still to be finished.
          const before = volume.pending.modification;
          const modification = sameJson(before, parameters) ? undefined : before;
          await volumeTable.update(sql, { id }, { pending: { ...volume.pending, modification } });
        },
      });
      return toVolume(modified, await findAttachments(engine.reader, id));
    },
  };
}
