import { Problem, problemTable } from '../../src/api/problem.ts';
import type { SizeSpec, Volume } from '../../src/api/volume.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Backend, ExpandedVolume, KnownVolume, SizeBounds } from '../backend.ts';
import type { Intended } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireAnyOffers, requireOffered } from '../pools/features.ts';
import type { Pool } from '../pools/pools.ts';
import { measureSpaces, requireSpace, type Space } from '../pools/space.ts';
import type { Sql } from '../store.ts';
import { findAttachments } from '../tables/attachments.ts';
import { moveReservation } from '../tables/reservations.ts';
import { findVolume, volumeTable, type VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { requireOwn } from '../tenancy/ownership.ts';
import { toKnownVolume, toVolume } from './documents.ts';
import { requireReadyVolume } from './ready.ts';
import { chooseSize } from './size.ts';
import { isWithin, requireRange } from './validate.ts';

/** Makes volumes larger, whether they are attached or not. */
export interface Expansion {
  /** Grows the volume to a size within the bounds, or finds that it has one. It never shrinks. */
  expand(cluster: Cluster, id: string, spec: SizeSpec): Promise<Volume>;
}

type Asked = {
  readonly id: string;
  readonly bounds: SizeBounds;
  readonly spaces: readonly Space[] | undefined;
};

/** Makes the service. */
export function createExpansion({ engine, pools, operations }: ServiceOptions): Expansion {
  function offered({ pool: name }: VolumeRecord): NonNullable<Backend['expand']> {
    const pool = pools.get(name);
    return requireOffered(pool, pool.backend.expand, 'expansion of volumes');
  }

  async function intend(
    sql: Sql,
    { id, bounds, spaces }: Asked,
  ): Promise<Intended<VolumeRecord, VolumeRecord>> {
    const volume = await requireReadyVolume(sql, id);
    offered(volume);
    if (volume.sizeBytes >= bounds.requiredBytes) {
      requireBelow(volume, bounds);
      return { result: volume };
    }
    const intent = sameJson(volume.pending.expansion, bounds)
      ? volume
      : await reserveGrowth(sql, volume, { pool: pools.get(volume.pool), spaces, bounds });
    const pending = { ...volume.pending, expansion: bounds };
    await volumeTable.update(sql, volume, { pending, reservedBytes: intent.reservedBytes });
    return { intent };
  }

  async function grow(volume: VolumeRecord, bounds: SizeBounds): Promise<ExpandedVolume> {
    const known = toKnownVolume(volume);
    const requiredBytes = sizeWithin(pools.get(volume.pool).backend, bounds);
    return requireGrown(known, bounds, await offered(volume)(known, { ...bounds, requiredBytes }));
  }

  return {
    async expand(cluster, id, spec) {
      requireAnyOffers(pools, 'expand', 'expansion of volumes');
      requireOwn(cluster, { kind: 'volume', id });
      requireRange(spec);
      const bounds = { requiredBytes: spec.requiredBytes ?? 0, limitBytes: spec.limitBytes ?? 0 };
      const known = await findVolume(engine.reader, id);
      const spaces = known && (await measureSpaces(pools.get(known.pool)));
      const grown = await operations.run<VolumeRecord, ExpandedVolume, VolumeRecord>({
        operation: 'expand',
        subject: bounds,
        claims: [{ kind: 'volume', id }],
        intend: sql => intend(sql, { id, bounds, spaces }),
        act: volume => grow(volume, bounds),
        async succeed(sql, { intent, effect: { sizeBytes, nodeExpansionRequired } }) {
          const pending = { ...intent.pending, expansion: undefined };
          const changes = { sizeBytes, reservedBytes: sizeBytes, nodeExpansionRequired, pending };
          const volume = { ...intent, ...changes };
          await moveReservation(sql, intent, volume);
          await volumeTable.update(sql, { id }, changes);
          return volume;
        },
        async fail(sql, { intent, problem }) {
          if (!problemTable[problem.code].final) return;
          // What was begun before with other bounds may have been done, and is still to be finished.
          const { expansion: before } = intent.pending;
          const expansion = sameJson(before, bounds) ? undefined : before;
          const reservedBytes = expansion ? intent.reservedBytes : intent.sizeBytes;
          await moveReservation(sql, intent, { ...intent, reservedBytes });
          await volumeTable.update(sql, { id }, { pending: { ...intent.pending, expansion }, reservedBytes });
        },
      });
      requireBelow(grown, bounds);
      return toVolume(grown, await findAttachments(engine.reader, id));
    },
  };
}

/** The volume as it was, with what it is to take of its pool, which is reserved now. */
async function reserveGrowth(
  sql: Sql,
  volume: VolumeRecord,
  { bounds, ...where }: Omit<Asked, 'id'> & { readonly pool: Pool },
): Promise<VolumeRecord> {
  const { segments, reservedBytes: heldBytes } = volume;
  const bytes = Math.max(heldBytes, sizeWithin(where.pool.backend, bounds));
  await requireSpace(sql, where, { bytes, heldBytes, topologies: segments && [segments] });
  const grown = { ...volume, reservedBytes: bytes };
  await moveReservation(sql, volume, grown);
  return grown;
}

/** The size itself where the gateway knows the sizes, else the least. */
function sizeWithin({ sizes }: Backend, bounds: SizeBounds): number {
  return sizes ? chooseSize(bounds, sizes) : bounds.requiredBytes;
}

/** A volume is never reported as grown to less than it had, or less than was asked for. */
function requireGrown(before: KnownVolume, bounds: SizeBounds, grown: ExpandedVolume): ExpandedVolume {
  const requiredBytes = Math.max(before.sizeBytes, bounds.requiredBytes);
  if (isWithin(grown.sizeBytes, { requiredBytes })) return grown;
  throw new Problem(
    'UNAVAILABLE',
    `the storage expanded volume "${before.id}" to ${grown.sizeBytes} bytes, which was not asked for`,
  );
}

function requireBelow({ id, sizeBytes }: VolumeRecord, { limitBytes }: SizeBounds): void {
  if (limitBytes > 0 && sizeBytes > limitBytes)
    throw new Problem(
      'OUT_OF_RANGE',
      `volume "${id}" has ${sizeBytes} bytes, more than the limit of ${limitBytes}`,
    );
}
