import { invalidProblem, preconditionProblem, Problem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { Segments } from '../../src/api/topology.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireUsable } from '../pools/choice.ts';
import { requireOffered } from '../pools/features.ts';
import type { Pool } from '../pools/pools.ts';
import type { Sql } from '../store.ts';
import { moveReservation } from '../tables/reservations.ts';
import { findAtStorage, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import { isOneOf } from '../volumes/placement.ts';
import { emptyVolumeRecord } from '../volumes/record.ts';
import { requireCapabilities } from '../volumes/validate.ts';
import type { Cluster } from './cluster.ts';
import { requireQuota } from './quotas.ts';

/** What is to become a volume of the cluster, under this id. */
export type Import = {
  readonly volumeId: string;
  readonly cluster: Cluster;
  readonly pool: string;
  /** What the storage calls it. */
  readonly storageId: string;
  readonly capabilities: readonly Capability[];
  /** Needed where the storage does not know how large it is. */
  readonly sizeBytes?: number | undefined;
  /** Needed where the storage has several topologies. */
  readonly topology?: Segments | undefined;
};

/**
 * Makes what takes a volume that the storage has already, and the store does not know, as one of a cluster. Nothing is
 * changed at the storage; nodes never make a filesystem on it.
 */
export function createImport({ pools, operations }: Pick<ServiceOptions, 'pools' | 'operations'>) {
  return async (asked: Import): Promise<VolumeRecord> => {
    const { volumeId, cluster, storageId } = asked;
    const isKnown = pools.waiting().has(asked.pool) || pools.all().some(({ name }) => name === asked.pool);
    if (!isKnown) throw invalidProblem(`body.pool: there is no pool "${asked.pool}"`);
    const pool = pools.get(asked.pool);
    requireCapabilities(pool, asked.capabilities);
    const asNew = toRecord(asked, pool);
    return operations.run<VolumeRecord, number, VolumeRecord>({
      operation: 'import',
      subject: asked,
      about: storageId,
      pool: ({ pool: name }) => name,
      // Nothing is created under either id meanwhile, and no repair removes it.
      claims: [
        { kind: 'volume', id: volumeId },
        ...(storageId === volumeId ? [] : [{ kind: 'volume' as const, id: storageId }]),
      ],
      async intend(sql) {
        const known = await findTaken(sql, asNew, storageId);
        if (known) return { result: known };
        requireUsable(cluster, pool.name);
        return { intent: asNew };
      },
      async act() {
        await requireListed(pool, storageId);
        return measure(pool, asked);
      },
      async succeed(sql, { effect: sizeBytes }) {
        await requireQuota(sql, cluster, { pool: pool.name, bytes: sizeBytes, volumes: 1 });
        const record = { ...asNew, sizeBytes, reservedBytes: sizeBytes };
        await volumeTable.add(sql, record);
        await moveReservation(sql, undefined, record);
        return record;
      },
      fail: async () => {},
    });
  };
}

function toRecord(
  { volumeId, cluster, storageId, capabilities, topology }: Import,
  pool: Pool,
): VolumeRecord {
  const { topologies } = pool.backend;
  const segments = topology ?? (topologies?.length === 1 ? topologies[0] : undefined);
  if (topologies ? !segments || !isOneOf(segments, topologies) : topology)
    throw invalidProblem(`topology: must be one of those of pool "${pool.name}", where it has several`);
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
    // It was made for no record.
    nonce: '',
    state: 'ready',
    segments,
    // It may hold data that no filesystem's probe knows.
    usedRaw: true,
    storageId: storageId === volumeId ? undefined : storageId,
  };
}

/** The record when this was done before. FAILED_PRECONDITION when another has it, ALREADY_EXISTS when the id is another's. */
async function findTaken(
  sql: Sql,
  { id, pool }: VolumeRecord,
  storageId: string,
): Promise<VolumeRecord | undefined> {
  const known = await volumeTable.find(sql, { id });
  const owner = await findAtStorage(sql, storageId);
  if (known && known.id === owner?.id && known.pool === pool && known.state === 'ready') return known;
  if (owner) throw preconditionProblem(`"${storageId}" of the storage is volume "${owner.id}" already`);
  const other = known ?? (await findAtStorage(sql, id));
  if (other) throw new Problem('ALREADY_EXISTS', `"${id}" is the id of another volume`);
  return undefined;
}

/** NOT_FOUND when the storage has no such volume, UNIMPLEMENTED when it does not tell what it has. */
async function requireListed(pool: Pool, storageId: string): Promise<void> {
  const { backend, name } = pool;
  for await (const id of requireOffered(pool, backend.list, 'list of volumes').call(backend))
    if (id === storageId) return;
  throw new Problem('NOT_FOUND', `pool "${name}" has no volume "${storageId}"`);
}

/** What the storage says when it is asked to grow the volume to no size, which changes nothing. */
async function measure(pool: Pool, { storageId, sizeBytes = 0 }: Import): Promise<number> {
  const volume = { id: storageId, nonce: '', sizeBytes: 0, parameters: {} };
  const found = await pool.backend.expand?.(volume, { requiredBytes: 0, limitBytes: 0 });
  const known = found?.sizeBytes || sizeBytes;
  if (known === 0)
    throw invalidProblem(`sizeBytes: is needed, since pool "${pool.name}" does not say how large it is`);
  return known;
}
