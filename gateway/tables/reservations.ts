import type { Segments } from '../../src/api/topology.ts';
import type { Reader, Sql, SqlValue } from '../store.ts';
import { integer, segmentsText, table, text } from './table.ts';

/** What a volume or snapshot takes of its pool; undefined `segments`: it is in none, or not created yet. */
export type Reserved = {
  readonly pool: string;
  readonly segments: Segments | undefined;
  readonly cluster: string;
  readonly reservedBytes: number;
};

/** What is reserved in all, of each pool. */
export const reservationTable = table('reservations', {
  key: ['pool', 'segments', 'cluster'],
  columns: { pool: text(), segments: text(), cluster: text(), bytes: integer() },
});

/**
 * Counts that what was reserved as `before` is reserved as `after` from now on; undefined is nothing. It belongs into the
 * transaction that changes the record.
 */
export async function moveReservation(
  sql: Sql,
  before: Reserved | undefined,
  after: Reserved | undefined,
): Promise<void> {
  if (before && after && keyOf(before).join() === keyOf(after).join())
    return add(sql, after, after.reservedBytes - before.reservedBytes);
  if (before) await add(sql, before, -before.reservedBytes);
  if (after) await add(sql, after, after.reservedBytes);
}

/** How many bytes are reserved in the pool by all clusters, in one topology or, without `segments`, in all. */
export async function sumReserved(
  sql: Reader,
  pool: string,
  segments: Segments | undefined,
): Promise<number> {
  const same = { pool, ...(segments && { segments: segmentsText(segments) }) };
  const rows = await reservationTable.select(sql, same);
  return rows.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Sums up anew what the records say. */
export async function recountReservations(sql: Sql): Promise<void> {
  await sql.run('delete from reservations');
  await sql.run(
    `insert into reservations (pool, segments, cluster, bytes)
     select pool, coalesce(segments, ''), cluster, sum(reserved_bytes) from (
       select pool, segments, cluster, reserved_bytes from volumes
       union all select pool, segments, cluster, reserved_bytes from snapshots
     ) as reserved group by pool, coalesce(segments, ''), cluster`,
  );
}

async function add(sql: Sql, reserved: Reserved, bytes: number): Promise<void> {
  if (bytes === 0) return;
  await sql.run(
    `insert into reservations (pool, segments, cluster, bytes) values (?, ?, ?, ?)
     on conflict (pool, segments, cluster) do update set bytes = reservations.bytes + excluded.bytes`,
    ...keyOf(reserved),
    bytes,
  );
}

function keyOf({ pool, segments, cluster }: Reserved): readonly SqlValue[] {
  return [pool, segments ? segmentsText(segments) : '', cluster];
}
