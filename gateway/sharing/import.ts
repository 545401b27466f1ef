import { createHash } from 'node:crypto';
import { invalidProblem, preconditionProblem, Problem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { ExistingVolume } from '../../src/api/volume.ts';
import type { Segments } from '../../src/api/topology.ts';
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
    if (request.existing) requireTakeable(pool, request);
    const asNew = toRecord(request, pool);
    requireVolumeSize(asNew);
    return { pool, asNew };
  }

  async function importVolume(request: ImportRequest): Promise<VolumeRecord> {
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
        if (known) return { result: known };
        // A volume that the storage has taken over counts there, so it must fit before.
        if (request.existing) await admit(sql, cluster, { ...asNew, sizeBytes: request.sizeBytes ?? 0 });
        return { intent: asNew };
      },
      async act() {
        if (request.existing) return take(pool, request, asNew);
        await requireListed(pool, storageId, slices);
        return measure(pool, request);
      },
      async succeed(sql, { effect: sizeBytes }) {
        const record = { ...asNew, sizeBytes, reservedBytes: sizeBytes };
        await admit(sql, cluster, record);
        await volumeTable.add(sql, record);
        await moveReservation(sql, undefined, record);
        return record;
      },
      fail: async () => {},
    });
  }

  return {
    importVolume: (request: ImportRequest) =>
      whileShort(() => importVolume(request), createRoomMaker(options)),
    /**
     * Returns the record as it would be, or throws why the import is not possible. Changes nothing. It does not ask the
     * storage for the size, so the size is 0 if the request has none.
     */
    async foresee(request: ImportRequest): Promise<VolumeRecord> {
      const { pool, asNew } = prepare(request);
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
  const { topologies } = pool.backend;
  const segments = topology ?? (topologies?.length === 1 ? topologies[0] : undefined);
  if (topologies ? !segments || !isOneOf(segments, topologies) : topology)
    throw invalidProblem(
      topologies
        ? `topology: must be one of the topologies of pool "${pool.name}"`
        : `topology: pool "${pool.name}" has no topologies; leave it out`,
    );
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
  if (owner) throw preconditionProblem(`"${storageId}" of the storage is already volume "${owner.id}"`);
  const other = known ?? (await findAtStorage(sql, id));
  if (other) throw new Problem('ALREADY_EXISTS', `"${id}" is the id of another volume; choose another name`);
  return undefined;
}

/** Throws unless the pool takes over volumes of drivers, and the request says all that no driver is asked for. */
function requireTakeable(pool: Pool, { volumeId, storageId, sizeBytes = 0 }: ImportRequest): void {
  requireOffered(pool, pool.backend.take, 'import of volumes that a CSI driver made');
  if (storageId !== volumeId)
    throw invalidProblem('storageId: leave it out, since "existing" names the volume');
  if (sizeBytes === 0)
    throw invalidProblem('sizeBytes: is required, because a CSI driver is not asked for it');
}

async function take(
  { backend }: Pool,
  { existing, capabilities, sizeBytes = 0 }: ImportRequest,
  { id, nonce, segments }: VolumeRecord,
): Promise<number> {
  if (!backend.take || !existing) return sizeBytes;
  const volume = { id, nonce, existing, capabilities, sizeBytes, ...(segments && { segments }) };
  return (await backend.take(volume)).sizeBytes;
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
