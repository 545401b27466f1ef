import { preconditionProblem, Problem } from '../../src/api/problem.ts';
import { formatSegments, type Segments } from '../../src/api/topology.ts';
import type { Volume, VolumeSpec } from '../../src/api/volume.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { KnownVolume, VolumeRef } from '../backend.ts';
import type { Choice } from '../pools/choice.ts';
import type { Reader, Sql } from '../store.ts';
import type { AttachmentRecord } from '../tables/attachments.ts';
import { type GrantRecord, removeGrants } from '../tables/tenancy/grants.ts';
import { moveReservation } from '../tables/reservations.ts';
import { findVolume, type RecordedSpec, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { requireAccess } from '../tenancy/access.ts';
import { notFoundProblem, requireOwn } from '../tenancy/ownership.ts';
import { meets, type Requirement } from './placement.ts';
import { isWithin, requireRange } from './size.ts';
import { readAll, readMutableParameters, readVolumeParameters, requireCapabilities } from './validate.ts';

/** What a cluster asks for under an id. */
export type Asked = { readonly cluster: Cluster; readonly id: string; readonly spec: VolumeSpec };

/** A volume as it is recorded at first, to be in one of the topologies; INVALID_ARGUMENT names all that its pool does not take. */
export function newVolumeRecord(
  { cluster, id, spec }: Asked,
  { pool, own }: Choice,
  topologies: readonly Segments[] | undefined,
): VolumeRecord {
  const { name, topology: _, source, ...rest } = spec;
  const { mutableParameters, ofBackend } = readAll({
    range: () => requireRange(spec),
    capabilities: () => requireCapabilities(pool, spec.capabilities),
    ofBackend: () => readVolumeParameters(pool, own, spec.capabilities),
    mutableParameters: () => readMutableParameters(pool, spec.mutableParameters),
  });
  const parameters = {
    ...ofBackend,
    ...(spec.parameters?.['pool'] !== undefined && { pool: pool.name }),
  };
  const recorded = { ...rest, parameters, mutableParameters, ...(topologies && { topologies }) };
  return emptyVolumeRecord({ id, cluster: cluster.name, name, pool: pool.name, spec: recorded, source });
}

/** A volume of which nothing is there yet. */
export function emptyVolumeRecord(
  known: Pick<VolumeRecord, 'id' | 'cluster' | 'name' | 'pool' | 'source'> & { readonly spec: RecordedSpec },
): VolumeRecord {
  return {
    ...known,
    nonce: crypto.randomUUID(),
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
    storageId: undefined,
    shared: false,
  };
}

/** Records the changes, and what the volume takes of its pool from now on; the volume as it is then. */
export async function changeVolume(
  sql: Sql,
  before: VolumeRecord,
  changes: Partial<VolumeRecord>,
): Promise<VolumeRecord> {
  const after = { ...before, ...changes };
  await moveReservation(sql, before, after);
  await volumeTable.update(sql, before, changes);
  return after;
}

/** Removes the record, what the volume takes of its pool, and its grants: none is one of the next volume of this id. */
export async function removeVolume(sql: Sql, volume: VolumeRecord): Promise<void> {
  await moveReservation(sql, volume, undefined);
  await removeGrants(sql, volume.id);
  await volumeTable.remove(sql, volume);
}

/** What the recorded volume was asked to be must be what is asked now; its size is compared once it is made. */
export function requireSame(known: VolumeRecord, asked: VolumeRecord): void {
  const { id, state, restorableUntilMs = 0 } = known;
  if (state === 'deleted') {
    const until = new Date(restorableUntilMs).toISOString();
    throw preconditionProblem(`volume "${id}" was deleted and can be restored until ${until}`);
  }
  if (state === 'deleting') throw new Problem('ABORTED', `volume "${id}" is being deleted; try again`);
  const differences = [
    [known.name, asked.name, `is there with the name "${known.name}"`],
    [known.pool, asked.pool, `is in pool "${known.pool}", not in pool "${asked.pool}"`],
    [toKnownVolume(known).parameters, toKnownVolume(asked).parameters, 'is there with other parameters'],
    [known.spec.mutableParameters, asked.spec.mutableParameters, 'was made with other mutable parameters'],
    [known.source, asked.source, 'was made from another source'],
  ] as const;
  const difference = differences.find(([is, wanted]) => !sameJson(is, wanted));
  if (difference) throw new Problem('ALREADY_EXISTS', `volume "${id}" ${difference[2]}`);
}

/** ALREADY_EXISTS when the volume has a size, or is in a topology, outside of what is asked. */
export function requireFitting(
  { id, sizeBytes, segments }: VolumeRecord,
  { spec }: VolumeRecord,
  requirement: Requirement,
): void {
  const there = `volume "${id}" is there`;
  if (!isWithin(sizeBytes, spec))
    throw new Problem('ALREADY_EXISTS', `${there} with ${sizeBytes} bytes, outside of the size asked for`);
  if (segments && !meets(segments, requirement)) {
    const where = `in "${formatSegments(segments)}", which is not where it is asked for`;
    throw new Problem('ALREADY_EXISTS', `${there} ${where}`);
  }
}

/** Who looks at a volume, with what it was granted; nobody else than its owner unless given. */
type Viewing = { readonly viewer?: string; readonly grants?: readonly GrantRecord[] };

/** A volume as the API shows it: with the viewer's own attachments, and to its owner with its grants. */
export function toVolume(
  record: VolumeRecord,
  attachments: readonly AttachmentRecord[],
  { viewer = record.cluster, grants = [] }: Viewing = {},
): Volume {
  const { id, name, pool, state, sizeBytes, spec, source, context, createdAtMs } = record;
  const { mutableParameters, nodeExpansionRequired, pending, segments } = record;
  const unfinished = (['expansion', 'modification'] as const).filter(what => pending[what]);
  return {
    id,
    name,
    pool,
    // A soft-deleted volume is shown to nobody.
    state: state === 'deleted' ? 'deleting' : state,
    sizeBytes,
    parameters: spec.parameters ?? {},
    context: { ...context },
    attachments: attachments
      .filter(({ cluster }) => cluster === viewer)
      .map(({ nodeId, readonly, state: now }) => ({ nodeId, readonly, state: now })),
    createdAt: new Date(createdAtMs).toISOString(),
    ...(source && { source }),
    ...(Object.keys(mutableParameters).length > 0 && { mutableParameters: { ...mutableParameters } }),
    ...(nodeExpansionRequired && { nodeExpansionRequired }),
    ...(unfinished.length > 0 && { pending: unfinished }),
    ...(segments && { topology: [segments] }),
    ...toSharing(record.cluster, viewer, grants),
  };
}

function toSharing(
  owner: string,
  viewer: string,
  grants: readonly GrantRecord[],
): Pick<Volume, 'owner' | 'access' | 'grants'> {
  if (viewer !== owner) return { owner, access: grants.find(({ cluster }) => cluster === viewer)?.access };
  return grants.length === 0 ? {} : { grants: grants.map(({ cluster, access }) => ({ cluster, access })) };
}

/** A volume as backends find it. */
export function toVolumeRef({ id, storageId = id, nonce }: VolumeRecord): Required<VolumeRef> {
  return { id: storageId, nonce };
}

/** A volume as backends know it: what was asked of it beside its pool, its size, its topology. */
export function toKnownVolume(record: VolumeRecord): KnownVolume {
  const { sizeBytes, spec, segments } = record;
  const { pool: _, ...parameters } = spec.parameters ?? {};
  return { ...toVolumeRef(record), sizeBytes, parameters, ...(segments && { segments }) };
}

/** The cluster's own volume, in whatever state; NOT_FOUND when it has none with this id. */
export async function requireVolume(sql: Reader, cluster: Cluster, id: string): Promise<VolumeRecord> {
  // First, so that another's volume costs no more time than one that is nowhere.
  requireOwn(cluster, { kind: 'volume', id });
  return (await requireVisible(sql, cluster, id)).volume;
}

/** The cluster's own volume, or one that is shared with it, with what it was granted; NOT_FOUND for any other. */
export async function requireVisible(sql: Reader, cluster: Cluster, id: string) {
  const grant = await requireAccess(sql, cluster, id);
  const volume = await findVolume(sql, id);
  if (!volume || (volume.cluster !== cluster.name && !grant)) throw notFoundProblem({ kind: 'volume', id });
  return { volume, grant };
}

/** The volume on which work can begin: NOT_FOUND when it is not there, ABORTED while it is created or deleted. */
export async function requireReadyVolume(sql: Reader, id: string): Promise<VolumeRecord> {
  const volume = await findVolume(sql, id);
  if (!volume) throw notFoundProblem({ kind: 'volume', id });
  if (volume.state !== 'ready')
    throw new Problem('ABORTED', `volume "${id}" is not ready: it is ${volume.state}`);
  return volume;
}
