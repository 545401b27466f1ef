import { Problem } from '../../src/api/problem.ts';
import { formatSegments } from '../../src/api/topology.ts';
import type { VolumeSpec } from '../../src/api/volume.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Choice } from '../pools/choice.ts';
import type { RecordedSpec, VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { chooseTopologies, meets, type Requirement } from './placement.ts';
import {
  isWithin,
  readMutableParameters,
  readVolumeParameters,
  requireCapabilities,
  requireRange,
} from './validate.ts';

/** What a cluster asks for under an id. */
export type Asked = { readonly cluster: Cluster; readonly id: string; readonly spec: VolumeSpec };

/** A volume as it is recorded at first; INVALID_ARGUMENT names what its pool does not take. */
export function newVolumeRecord({
  asked: { cluster, id, spec },
  choice: { pool, own },
  requirement,
}: {
  readonly asked: Asked;
  readonly choice: Choice;
  readonly requirement: Requirement;
}): VolumeRecord {
  const { name, topology, source, ...rest } = spec;
  requireRange(spec);
  requireCapabilities(pool, spec.capabilities);
  const mutableParameters = readMutableParameters(pool, spec.mutableParameters);
  const parameters = {
    ...readVolumeParameters(pool, own, spec.capabilities),
    ...(spec.parameters?.['pool'] !== undefined && { pool: pool.name }),
  };
  const { topologies: known } = pool.backend;
  const topologies = topology && known && chooseTopologies(known, requirement);
  const recorded = { ...rest, parameters, mutableParameters, ...(topologies && { topologies }) };
  return emptyVolumeRecord({ id, cluster: cluster.name, name, pool: pool.name, spec: recorded, source });
}

/** A volume of which nothing is there yet. */
export function emptyVolumeRecord(
  known: Pick<VolumeRecord, 'id' | 'cluster' | 'name' | 'pool' | 'source'> & { readonly spec: RecordedSpec },
): VolumeRecord {
  return {
    ...known,
    state: 'creating',
    sizeBytes: 0,
    reservedBytes: 0,
    context: {},
    createdAtMs: Date.now(),
    mutableParameters: known.spec.mutableParameters ?? {},
    nodeExpansionRequired: false,
    usedRaw: false,
    pending: {},
    segments: undefined,
    restorableUntilMs: undefined,
  };
}

/** What the recorded volume was asked to be must be what is asked now; its size is compared once it is made. */
export function requireSame(known: VolumeRecord, asked: VolumeRecord): void {
  const { pool: _, ...has } = known.spec.parameters ?? {};
  const { pool: __, ...wants } = asked.spec.parameters ?? {};
  const differences = [
    [known.name, asked.name, `is there with the name "${known.name}"`],
    [known.pool, asked.pool, `is in pool "${known.pool}", not in pool "${asked.pool}"`],
    [has, wants, 'is there with other parameters'],
    [
      known.spec.mutableParameters ?? {},
      asked.spec.mutableParameters ?? {},
      'was made with other mutable parameters',
    ],
    [known.source, asked.source, 'was made from another source'],
  ] as const;
  const difference = differences.find(([is, wanted]) => !sameJson(is, wanted));
  if (difference) throw new Problem('ALREADY_EXISTS', `volume "${known.id}" ${difference[2]}`);
}

/** ALREADY_EXISTS when the volume has a size, or is in a topology, outside of what is asked. */
export function requireFitting(
  { id, sizeBytes, segments }: VolumeRecord,
  { spec }: VolumeRecord,
  requirement: Requirement,
): void {
  if (!isWithin(sizeBytes, spec))
    throw new Problem(
      'ALREADY_EXISTS',
      `volume "${id}" is there with ${sizeBytes} bytes, outside of the size asked for`,
    );
  if (segments && !meets(segments, requirement))
    throw new Problem(
      'ALREADY_EXISTS',
      `volume "${id}" is there in "${formatSegments(segments)}", which is not where it is asked for`,
    );
}
