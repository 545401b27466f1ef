import { createHash } from 'node:crypto';
import { invalidProblem, preconditionProblem, Problem, problemTable } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { ExistingVolume } from '../../src/api/volume.ts';
import { formatSegments, meetsTerm, type Segments } from '../../src/api/topology.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireUsable } from '../pools/choice.ts';
import { requireOffered } from '../pools/features.ts';
import type { Pool } from '../pools/pools.ts';
import type { Sql } from '../store.ts';
import { requireInService, requireUndrained } from '../tables/closures.ts';
import { moveReservation } from '../tables/reservations.ts';
import { findAtStorage, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import { isOneOf } from '../volumes/placement.ts';
import { emptyVolumeRecord, requireVolumeSize } from '../volumes/record.ts';
import { createRoomMaker } from '../volumes/deletion/leave.ts';
import { requireCapabilities } from '../volumes/validate.ts';
import type { Cluster } from '../callers/cluster.ts';
import { requireQuota } from '../pools/quotas.ts';
import { requireAll, unlessShort, whileShort } from '../pools/room.ts';
import type { Slices } from '../scheduling/slices.ts';

/** An existing volume of the storage that becomes the cluster's volume under this id. */
type ImportRequest = {
  readonly volumeId: string;
  readonly cluster: Cluster;
  readonly pool: string;
  readonly storageId: string;
  readonly capabilities: readonly Capability[];
  /** A volume of a CSI driver, which the storage does not list. */
  readonly existing?: ExistingVolume | undefined;
  /** Required if the storage does not report the volume's size. */
  readonly sizeBytes?: number | undefined;
  /** Required if the storage has several topologies. */
  readonly topology?: Segments | undefined;
};

/**
 * Creates the import of volumes that the storage has and the store does not know. Nothing changes in the
 * storage, and nodes never make a filesystem on the volume.
 */
export function createImport(options: Pick<ServiceOptions, 'engine' | 'pools' | 'operations' | 'slices'>) {
  const { engine, pools, operations, slices } = options;

  /** Checks the request by itself. */
  function prepare(request: ImportRequest): { readonly pool: Pool; readonly asNew: VolumeRecord } {
    const isKnown =
      pools.waiting().has(request.pool) || pools.all().some(({ name }) => name === request.pool);
    if (!isKnown) throw invalidProblem(`body.pool: there is no pool "${request.pool}"`);
    const pool = pools.get(request.pool);
    requireCapabilities(pool, request.capabilities, { isNew: false });
    const asNew = toRecord(request, pool);
    requireVolumeSize(asNew);
    return { pool, asNew };
  }

  async function importListed(request: ImportRequest): Promise<VolumeRecord> {
    const { volumeId, cluster, storageId } = request;
    const { pool, asNew } = prepare(request);
    return operations.run<VolumeRecord, number, VolumeRecord>({
      operation: 'import',
      subject: request,
      about: storageId,
      pool: ({ pool: name }) => name,
      // These claims keep other operations from creating either id, and a repair from removing it.
      claims: [
        { kind: 'volume', id: volumeId },
        ...(storageId === volumeId ? [] : [{ kind: 'volume' as const, id: storageId }]),
      ],
      async intend(sql) {
        const known = await plan(sql, request, asNew);
        return known ? { result: known } : { intent: asNew };
      },
      async act() {
        await requireListed(pool, storageId, slices);
        return measure(pool, request);
      },
      async succeed(sql, { effect: sizeBytes }) {
        const record = { ...asNew, sizeBytes, reservedBytes: sizeBytes };
        await add(sql, cluster, record);
        return record;
      },
      fail: async () => {},
    });
  }

  /**
   * The storage takes over a volume of a driver. The volume is recorded before, since a repair removes volumes
   * that only the storage has; it stays recorded unless the storage surely has not taken it.
   */
  async function takeOver(request: ImportRequest, existing: ExistingVolume): Promise<VolumeRecord> {
    const { volumeId, cluster, capabilities, sizeBytes = 0 } = request;
    const { pool, asNew } = prepare(request);
    const takeFrom = requireTakeable(pool, request);
    return operations.run<{ record: VolumeRecord; isNew: boolean }, void, VolumeRecord>({
      operation: 'import',
      subject: request,
      about: existing.handle,
      pool: () => pool.name,
      claims: [{ kind: 'volume', id: volumeId }],
      async intend(sql) {
        const known = await plan(sql, request, asNew);
        // An earlier import may have ended before the storage was asked.
        if (known) return { intent: { record: known, isNew: false } };
        const record = { ...asNew, sizeBytes, reservedBytes: sizeBytes };
        await add(sql, cluster, record);
        return { intent: { record, isNew: true } };
      },
      async act({ record: { id, nonce, segments } }) {
        await takeFrom({ id, nonce, existing, capabilities, sizeBytes, ...(segments && { segments }) });
      },
      succeed: async (_, { intent }) => intent.record,
      async fail(sql, { intent: { record, isNew }, problem }) {
        if (!isNew || !problemTable[problem.code].final) return;
        await moveReservation(sql, record, undefined);
        await volumeTable.remove(sql, record);
      },
    });
  }

  const importVolume = (request: ImportRequest) =>
    request.existing ? takeOver(request, request.existing) : importListed(request);

  return {
    importVolume: (request: ImportRequest) =>
      whileShort(() => importVolume(request), createRoomMaker(options)),
    /**
     * Returns the record as it would be, or throws why the import is not possible. Changes nothing. It does not ask the
     * storage for the size, so the size is 0 if the request has none.
     */
    async foresee(request: ImportRequest): Promise<VolumeRecord> {
      const { pool, asNew } = prepare(request);
      if (request.existing) requireTakeable(pool, request);
      const expected = { ...asNew, sizeBytes: request.sizeBytes ?? 0 };
      const known = await engine.transaction(sql => plan(sql, request, asNew));
      if (known) return known;
      await engine.transaction(sql => admit(sql, request.cluster, expected)).catch(unlessShort);
      if (!request.existing) await requireListed(pool, request.storageId, slices);
      return expected;
    },
  };
}

/** Returns the record of an earlier, equal import. Its refusals are early ones, and `admit` checks again. */
async function plan(sql: Sql, { cluster, storageId }: ImportRequest, asNew: VolumeRecord) {
  const known = await findImported(sql, asNew, storageId);
  if (known) return known;
  requireUsable(cluster, asNew.pool);
  await requireUndrained(sql, asNew.pool, asNew.id);
  return undefined;
}

/** Records an imported volume, unless `admit` throws. */
async function add(sql: Sql, cluster: Cluster, record: VolumeRecord): Promise<void> {
  await admit(sql, cluster, record);
  await volumeTable.add(sql, record);
  await moveReservation(sql, undefined, record);
}

/** Throws when the pool is drained, or when the cluster is retired or its quota too small for the volume. */
async function admit(sql: Sql, cluster: Cluster, { pool, nonce, sizeBytes }: VolumeRecord): Promise<void> {
  await requireAll([
    requireInService(sql, cluster.name, nonce),
    requireUndrained(sql, pool, nonce),
    requireQuota(sql, cluster, { pool, nonce, bytes: sizeBytes, volumes: 1 }),
  ]);
}

function toRecord(
  { volumeId, cluster, storageId, capabilities, topology, existing }: ImportRequest,
  pool: Pool,
): VolumeRecord {
  const segments = segmentsOf(topology, pool, existing !== undefined);
  const name = volumeId.slice(volumeId.indexOf('.') + 1);
  const spec = { capabilities: [...capabilities], parameters: {} };
  return {
    ...emptyVolumeRecord({
      id: volumeId,
      cluster: cluster.name,
      name,
      pool: pool.name,
      spec,
      source: undefined,
    }),
    // The data carry no nonce. A driver's volume gets one that follows from its handle, so that a repetition finds it.
    nonce: existing ? createHash('sha256').update(existing.handle).digest('hex').slice(0, 16) : '',
    state: 'ready',
    segments,
    // The volume may hold data that no filesystem's probe knows.
    usedRaw: true,
    storageId: storageId === volumeId ? undefined : storageId,
  };
}

/**
 * Chooses the volume's topology. A driver may tell more keys of a volume than the pool does of its locations. Throws
 * INVALID_ARGUMENT for a topology that the pool does not have.
 */
function segmentsOf(
  topology: Segments | undefined,
  { name, backend: { topologies } }: Pool,
  isOfDriver: boolean,
): Segments | undefined {
  const segments = topology ?? (topologies?.length === 1 ? topologies[0] : undefined);
  const given = topology && formatSegments(topology);
  if (!topologies) {
    if (given === undefined) return undefined;
    throw invalidProblem(
      `topology: the volume has "${given}", but pool "${name}" has no topologies; ${isOfDriver ? 'give them to its bridge (--topologies)' : 'leave it out'}`,
    );
  }
  const isKnown =
    segments &&
    (isOfDriver ? topologies.some(term => meetsTerm(segments, term)) : isOneOf(segments, topologies));
  if (isKnown) return segments;
  throw invalidProblem(`topology: must be one of the topologies of pool "${name}"`);
}

/**
 * Finds the record of an earlier, equal import. FAILED_PRECONDITION when another record has the storage's
 * volume, ALREADY_EXISTS when the id is another volume's.
 */
async function findImported(
  sql: Sql,
  { id, pool, nonce }: VolumeRecord,
  storageId: string,
): Promise<VolumeRecord | undefined> {
  const known = await volumeTable.find(sql, { id });
  const owner = await findAtStorage(sql, storageId);
  const isSame = known?.id === owner?.id && known?.pool === pool && (nonce === '' || known.nonce === nonce);
  if (known && isSame && known.state === 'ready') return known;
  if (owner && owner.id !== id)
    throw preconditionProblem(`"${storageId}" of the storage is already volume "${owner.id}"`);
  const other = known ?? (await findAtStorage(sql, id));
  if (other) throw new Problem('ALREADY_EXISTS', `"${id}" is the id of another volume; choose another name`);
  return undefined;
}

/**
 * The pool's function that takes over a driver's volume. Throws if there is none, or if the request lacks a value
 * that no driver is asked for.
 */
function requireTakeable(pool: Pool, { volumeId, storageId, sizeBytes = 0 }: ImportRequest) {
  const take = requireOffered(pool, pool.backend.take, 'import of volumes that a CSI driver made');
  if (storageId !== volumeId)
    throw invalidProblem('storageId: leave it out, since "existing" names the volume');
  if (sizeBytes === 0)
    throw invalidProblem('sizeBytes: is required, because a CSI driver is not asked for it');
  return take.bind(pool.backend);
}

/** Other callers get a time slice after this number of ids of the storage. */
const idsPerSlice = 1_000;

/** Throws NOT_FOUND when the storage has no such volume, and UNIMPLEMENTED when it does not list its volumes. */
async function requireListed(pool: Pool, storageId: string, slices: Slices): Promise<void> {
  const { backend, name } = pool;
  let count = 0;
  for await (const id of requireOffered(pool, backend.list, 'list of volumes').call(backend)) {
    if (id === storageId) return;
    if (++count % idsPerSlice === 0) await slices.take('operator', async () => {});
  }
  const naming = backend.listedAs === undefined ? '' : `; a volume of it is ${backend.listedAs}`;
  throw new Problem('NOT_FOUND', `pool "${name}" lists no volume "${storageId}"${naming}`);
}

/** Asks the storage for the size by expanding the volume to no size, which changes nothing. */
async function measure(pool: Pool, { storageId, sizeBytes = 0 }: ImportRequest): Promise<number> {
  const volume = { id: storageId, nonce: '', sizeBytes: 0, parameters: {} };
  const found = await pool.backend.expand?.(volume, { requiredBytes: 0, limitBytes: 0 });
  const known = found?.sizeBytes || sizeBytes;
  if (known === 0)
    throw invalidProblem(
      `sizeBytes: is required, because pool "${pool.name}" does not report the size of the volume`,
    );
  return known;
}
