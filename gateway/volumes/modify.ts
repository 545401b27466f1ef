import { mapByteLength } from '../../src/api/ids.ts';
import { limitProblem, limits } from '../../src/api/limits.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Volume } from '../../src/api/volume.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Cluster } from '../callers/cluster.ts';
import { requireOwner } from '../callers/access.ts';
import type { Operation } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireOffered } from '../pools/features.ts';
import type { Reader } from '../store.ts';
import { findAtStorage, type VolumeRecord } from '../tables/volumes.ts';
import { changeVolume, requireVolumeSize, runChange, toKnownVolume } from './record.ts';
import { showVolume } from './show.ts';
import { readParameters } from './validate.ts';

type Parameters = Readonly<Record<string, string>>;

/**
 * Creates the modification of volumes, which sets mutable parameters. A volume that has them stays as it is, and so do
 * other parameters.
 */
export function createModify(options: ServiceOptions) {
  const { engine, pools, operations } = options;
  const modificationIn = (name: string) =>
    requireOffered(pools.get(name), pools.get(name).backend.modification, 'modification of volumes');

  return async (cluster: Cluster, id: string, given: Parameters): Promise<Volume> => {
    await requireOwner(engine.reader, cluster, id);
    const modified = await runChange<'modification', Parameters>(operations, id, {
      kind: 'modification',
      operation: 'modify',
      subject: given,
      async begin(volume) {
        const { pool, mutableParameters: has } = volume;
        const earlier = volume.pending.modification;
        if (sameJson(earlier, given)) return { target: given };
        const read = readParameters(modificationIn(pool).parameters, given, 'mutableParameters');
        const isNew = earlier !== undefined || !sameJson(has, { ...has, ...read });
        if (!isNew) return undefined;
        const modification = { ...earlier, ...read };
        requireChangedSize(volume, modification);
        return { target: modification };
      },
      async act(volume, target) {
        // Newer settings may refuse parameters that an earlier call accepted.
        const modification = modificationIn(volume.pool);
        const parameters = readParameters(modification.parameters, target, 'mutableParameters');
        await modification.apply(toKnownVolume(volume), parameters);
        return parameters;
      },
      changed: ({ mutableParameters }, parameters) => ({
        mutableParameters: { ...mutableParameters, ...parameters },
      }),
      settle: volume => settle(engine.reader, volume),
    });
    return showVolume(options, modified);
  };
}

/** Throws INVALID_ARGUMENT when the volume would have too many parameters in all. */
function requireChangedSize(volume: VolumeRecord, modification: Parameters): void {
  const mutableParameters = { ...volume.mutableParameters, ...modification };
  const bytes = mapByteLength(mutableParameters);
  if (bytes > limits.mapBytes.max)
    throw limitProblem('mapBytes', `mutableParameters of volume "${volume.id}"`, bytes);
  requireVolumeSize({ ...volume, mutableParameters, pending: { ...volume.pending, modification } });
}

/**
 * Schedules the recorded parameters for a sweep: a late call may have replaced newer ones, and the volume may
 * have a new owner.
 */
async function settle(
  reader: Reader,
  { id, nonce, storageId = id }: VolumeRecord,
): Promise<Operation<never, void, void>> {
  const { id: now = id } = (await findAtStorage(reader, storageId)) ?? {};
  return {
    operation: 'settle',
    subject: undefined,
    claims: [{ kind: 'volume', id: now }],
    async intend(sql) {
      const volume = await findAtStorage(sql, storageId);
      if (volume?.nonce !== nonce || volume.state !== 'ready') return { result: undefined };
      if (volume.id !== now) throw new Problem('ABORTED', `volume "${now}" is now "${volume.id}"`);
      const { mutableParameters, pending } = volume;
      const isLeft = pending.modification !== undefined || Object.keys(mutableParameters).length === 0;
      if (!isLeft)
        await changeVolume(sql, volume, { pending: { ...pending, modification: mutableParameters } });
      return { result: undefined };
    },
    act: async () => {},
    succeed: async () => {},
    fail: async () => {},
  };
}
