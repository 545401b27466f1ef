import { preconditionProblem, Problem, problemTable } from '../../src/api/problem.ts';
import { formatSegments, type Segments } from '../../src/api/topology.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { VolumeSpec } from '../../src/api/volume.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { KnownVolume, VolumeRef } from '../backend.ts';
import type { Operation, Operations } from '../operations/operation.ts';
import type { Choice } from '../pools/choice.ts';
import type { Reader, Sql } from '../store.ts';
import { readMissed } from '../tables/clock.ts';
import { removeCopyGrants } from '../tables/copy-grants.ts';
import { removeGrants } from '../tables/grants.ts';
import { moveReservation } from '../tables/reservations.ts';
import type { SnapshotRecord } from '../tables/snapshots.ts';
import {
  findVolume,
  type PendingWork,
  type RecordedSpec,
  type VolumeRecord,
  volumeTable,
} from '../tables/volumes.ts';
import type { Cluster } from '../callers/cluster.ts';
import { requireAccess } from '../callers/access.ts';
import { notFoundProblem, requireOwn } from '../callers/ownership.ts';
import { requireRecordSize } from '../tables/record-size.ts';
import { filesystemOfSource, requireSameContent } from './filesystem.ts';
import { meets, type Requirement } from './placement.ts';
import { isWithin, requireRange } from './size.ts';
import { readAll, readMutableParameters, readVolumeParameters, requireCapabilities } from './validate.ts';

export type VolumeRequest = { readonly cluster: Cluster; readonly id: string; readonly spec: VolumeSpec };

/**
 * Makes the first record of a volume, with its possible topologies. INVALID_ARGUMENT names all that its pool
 * does not take.
 */
export function newVolumeRecord(
  { cluster, id, spec }: VolumeRequest,
  { pool, own, from }: Choice & { readonly from?: SnapshotRecord | VolumeRecord | undefined },
  topologies: readonly Segments[] | undefined,
): VolumeRecord {
  const { name, topology: _, source, ...rest } = spec;
  const { mutableParameters, ofBackend } = readAll({
    range: () => requireRange(spec),
    capabilities: () => requireCapabilities(pool, usesOf(spec, from), { isNew: !source }),
    content: () => from && requireSameContent(spec, from),
    ofBackend: () => readVolumeParameters(pool, own, spec.capabilities),
    mutableParameters: () => readMutableParameters(pool, spec.mutableParameters),
  });
  const parameters = {
    ...ofBackend,
    ...(spec.parameters?.['pool'] !== undefined && { pool: pool.name }),
  };
  const copiesKeepDeleted = keepDeletedOf(cluster, from);
  const recorded = {
    ...rest,
    parameters,
    mutableParameters,
    ...(topologies && { topologies }),
    ...(copiesKeepDeleted !== undefined && { copiesKeepDeleted }),
  };
  const known = { id, cluster: cluster.name, name, pool: pool.name, spec: recorded, source };
  const record = emptyVolumeRecord(known);
  requireVolumeSize(record);
  return record;
}

/** Returns the parameter of the source snapshot's class. Another cluster's class does not decide for this one. */
function keepDeletedOf({ name }: Cluster, from: SnapshotRecord | VolumeRecord | undefined) {
  return from && 'volumeId' in from && from.cluster === name ? from.parameters['keepDeleted'] : undefined;
}

/** Returns the uses of the volume. A copy is used with the filesystem of its source. */
function usesOf(
  { capabilities }: Pick<VolumeSpec, 'capabilities'>,
  from: SnapshotRecord | VolumeRecord | undefined,
): readonly Capability[] {
  const fsType = from && filesystemOfSource(from)?.fsType;
  if (fsType === undefined) return capabilities;
  return capabilities.map(one => ({ ...(one.accessType === 'mount' && { fsType }), ...one }));
}

/** Throws INVALID_ARGUMENT for a record that is too large even without the storage's additions. */
export function requireVolumeSize(record: VolumeRecord): void {
  const spec = { ...record.spec, topologies: undefined };
  const given = { ...record, spec, context: undefined, segments: undefined };
  requireRecordSize(`volume "${record.id}"`, given);
}

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
    deletedAtMs: undefined,
  };
}

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

/** Returns the end of the time for restoring the soft-deleted volume, by the clock; undefined for any other volume. */
export function restorableUntil({ restorableUntilMs }: VolumeRecord, missedMs: number): number | undefined {
  return restorableUntilMs === undefined ? undefined : restorableUntilMs + missedMs;
}

/** Removes the record, the reservation and the grants, which must not apply to the next volume with this id. */
export async function removeVolume(sql: Sql, volume: VolumeRecord): Promise<void> {
  await moveReservation(sql, volume, undefined);
  await removeGrants(sql, volume);
  await removeCopyGrants(sql, { kind: 'volume', id: volume.id });
  await volumeTable.remove(sql, volume);
}

/** Compares the request that is recorded with the new one. The size is compared once the volume is created. */
export async function requireSame(sql: Reader, known: VolumeRecord, request: VolumeRecord): Promise<void> {
  const { id, state } = known;
  if (state === 'deleted') {
    const until = new Date(restorableUntil(known, await readMissed(sql)) ?? 0).toISOString();
    throw preconditionProblem(`volume "${id}" was deleted and can be restored until ${until}`);
  }
  if (state === 'deleting') throw new Problem('ABORTED', `volume "${id}" is being deleted; try again`);
  const differences = [
    [known.name, request.name, `already exists with the name "${known.name}"`],
    [known.pool, request.pool, `is in pool "${known.pool}", not in pool "${request.pool}"`],
    [parametersOf(known), parametersOf(request), 'already exists with other parameters'],
    [known.spec.mutableParameters, request.spec.mutableParameters, 'was made with other mutable parameters'],
    [known.source, request.source, 'was made from another source'],
  ] as const;
  const difference = differences.find(([found, wanted]) => !sameJson(found, wanted));
  if (difference) throw new Problem('ALREADY_EXISTS', `volume "${id}" ${difference[2]}`);
}

/** Throws ALREADY_EXISTS when the volume's size or topology does not match the request. */
export function requireFitting(
  { id, sizeBytes, segments }: VolumeRecord,
  { spec }: VolumeRecord,
  requirement: Requirement,
): void {
  const there = `volume "${id}" already exists`;
  if (!isWithin(sizeBytes, spec))
    throw new Problem('ALREADY_EXISTS', `${there} with ${sizeBytes} bytes, outside the requested size`);
  if (segments && !meets(segments, requirement)) {
    const where = `in "${formatSegments(segments)}", which is not a requested topology`;
    throw new Problem('ALREADY_EXISTS', `${there} ${where}`);
  }
}

export function toVolumeRef({ id, storageId = id, nonce }: VolumeRecord): Required<VolumeRef> {
  return { id: storageId, nonce };
}

/** Returns the requested parameters without the pool. */
export function parametersOf({ spec }: VolumeRecord): Readonly<Record<string, string>> {
  const { pool: _, ...parameters } = spec.parameters ?? {};
  return parameters;
}

/** Returns the volume as backends know it: without the parameters that are the gateway's own. */
export function toKnownVolume(record: VolumeRecord): KnownVolume {
  const { sizeBytes, segments } = record;
  const { keepDeleted: _, ...parameters } = parametersOf(record);
  return { ...toVolumeRef(record), sizeBytes, parameters, ...(segments && { segments }) };
}

/** Finds the cluster's own volume in any state. NOT_FOUND when it has none with this id. */
export async function requireVolume(sql: Reader, cluster: Cluster, id: string): Promise<VolumeRecord> {
  // This comes first, so that another cluster's volume costs no more time than a missing one.
  requireOwn(cluster, { kind: 'volume', id });
  return (await requireVisible(sql, cluster, id)).volume;
}

/** Finds the cluster's own volume, or one that is shared with it together with the grant. NOT_FOUND for any other. */
export async function requireVisible(sql: Reader, cluster: Cluster, id: string) {
  const grant = await requireAccess(sql, cluster, id);
  const volume = await findVolume(sql, id);
  if (!volume || (volume.cluster !== cluster.name && !grant)) throw notFoundProblem({ kind: 'volume', id });
  return { volume, grant };
}

/**
 * Finds the volume if work on it can begin. NOT_FOUND when there is none, ABORTED while it is being created
 * or deleted.
 */
export async function requireReadyVolume(sql: Reader, id: string): Promise<VolumeRecord> {
  const volume = await findVolume(sql, id);
  if (!volume) throw notFoundProblem({ kind: 'volume', id });
  if (volume.state !== 'ready')
    throw new Problem('ABORTED', `volume "${id}" is not ready: it is ${volume.state}`);
  return volume;
}

type ChangeKind = keyof PendingWork;

/** A change of a ready volume. It stays pending until it is done or finally refused. */
type Change<K extends ChangeKind, Effect> = {
  readonly kind: K;
  readonly operation: string;
  readonly subject: object;
  /**
   * Plans the change beside earlier pending work, and its reservation. Undefined: the volume is already as
   * requested.
   */
  begin(volume: VolumeRecord, sql: Sql): Promise<PlannedChange<K> | undefined>;
  act(volume: VolumeRecord, target: PlannedChange<K>['target']): Promise<Effect>;
  readonly changed: (volume: VolumeRecord, effect: Effect) => Partial<VolumeRecord>;
  /** Returns work for a sweep, in case a late call replaces what newer ones have done. */
  readonly settle?: (volume: VolumeRecord) => Promise<Operation<never, void, void>>;
  readonly makeRoom?: (failure: unknown) => Promise<boolean>;
};
type PlannedChange<K extends ChangeKind> = {
  readonly target: NonNullable<PendingWork[K]>;
  readonly reservedBytes?: number;
};
type ChangeIntent<K extends ChangeKind> = Pick<PlannedChange<K>, 'target'> & {
  readonly volume: VolumeRecord;
};

export async function runChange<K extends ChangeKind, E>(
  operations: Operations,
  id: string,
  change: Change<K, E>,
): Promise<VolumeRecord> {
  const { kind, operation, subject, settle, makeRoom } = change;
  return operations.run<ChangeIntent<K>, E, VolumeRecord>({
    operation,
    subject,
    claims: [{ kind: 'volume', id }],
    pool: ({ volume }) => volume.pool,
    async intend(sql) {
      const volume = await requireReadyVolume(sql, id);
      const planned = await change.begin(volume, sql);
      if (!planned) return { result: volume };
      const { target, reservedBytes = volume.reservedBytes } = planned;
      await changeVolume(sql, volume, { pending: { ...volume.pending, [kind]: target }, reservedBytes });
      return { intent: { target, volume: { ...volume, reservedBytes } } };
    },
    act: ({ volume, target }) => change.act(volume, target),
    succeed(sql, { intent: { volume }, effect }) {
      const pending = { ...volume.pending, [kind]: undefined };
      return changeVolume(sql, volume, { ...change.changed(volume, effect), pending });
    },
    async fail(sql, { intent: { volume, target }, problem }) {
      if (!problemTable[problem.code].final) return;
      // Earlier pending work with other bounds or parameters may have been done, and must still be
      // finished.
      const before = volume.pending[kind];
      const pending = { ...volume.pending, [kind]: sameJson(before, target) ? undefined : before };
      const reservedBytes = pending.expansion ? volume.reservedBytes : volume.sizeBytes;
      await changeVolume(sql, volume, { pending, reservedBytes });
    },
    ...(settle && { settle: ({ volume }) => settle(volume) }),
    ...(makeRoom && { makeRoom }),
  });
}
