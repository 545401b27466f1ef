import type { Segments } from '../../src/api/topology.ts';
import type { Reader, Sql, SqlValue } from '../store.ts';
import { integer, segmentsText, table, text } from './table.ts';

/** A volume or snapshot (which has a `volumeId`), and what it takes of its pool; undefined `segments`: it is in none, or not created yet. */
type Reserved = {
  readonly pool: string;
  readonly segments: Segments | undefined;
  readonly cluster: string;
  readonly reservedBytes: number;
  readonly volumeId?: string;
};

/** What a cluster has of something: how many bytes are reserved, and how many volumes and snapshots there are. */
export type Usage = { readonly bytes: number; readonly volumes: number; readonly snapshots: number };

/** What is reserved in all, of each pool. */
export const reservationTable = table('reservations', {
  key: ['pool', 'segments', 'cluster'],
  columns: {
    pool: text(),
    segments: text(),
    cluster: text(),
    bytes: integer(),
    volumes: integer(),
    snapshots: integer(),
  },
  indexes: ['reservations_by_cluster on reservations (cluster)'],
});

/** What gives the table of an older store its counts. */
export const addCounts: readonly string[] = [
  ...['volumes', 'snapshots'].map(
    name => `alter table reservations add column ${name} bigint not null default 0`,
  ),
  'create index reservations_by_cluster on reservations (cluster)',
];

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
    return add(sql, after, { bytes: after.reservedBytes - before.reservedBytes, count: 0 });
  if (before) await add(sql, before, { bytes: -before.reservedBytes, count: -1 });
  if (after) await add(sql, after, { bytes: after.reservedBytes, count: 1 });
}

/** What the cluster has in each pool in which it has something, snapshots and what can be restored included. */
export async function readUsage(
  sql: Reader,
  cluster: string,
): Promise<readonly (Usage & { readonly pool: string })[]> {
  const sums = 'sum(bytes) as bytes, sum(volumes) as volumes, sum(snapshots) as snapshots';
  const query = `select pool, ${sums} from reservations where cluster = ? group by pool order by pool`;
  const rows = await sql.all(query, cluster);
  return rows.map(({ pool, bytes, volumes, snapshots }) => ({
    pool: String(pool),
    bytes: Number(bytes),
    volumes: Number(volumes),
    snapshots: Number(snapshots),
  }));
}

/** How many bytes are reserved in the pool by all clusters, in one topology or, without `segments`, in all. */
export async function sumReserved(
  sql: Reader,
  pool: string,
  segments: Segments | undefined,
): Promise<number> {
  const summing = 'select sum(bytes) as bytes from reservations where pool = ?';
  const [sum] = await (segments
    ? sql.all(`${summing} and segments = ?`, pool, segmentsText(segments))
    : sql.all(summing, pool));
  return Number(sum?.bytes ?? 0);
}

/** What is in conflict is added to what is there. */
const adding = `on conflict (pool, segments, cluster) do update set bytes = reservations.bytes + excluded.bytes,
  volumes = reservations.volumes + excluded.volumes, snapshots = reservations.snapshots + excluded.snapshots`;

/**
 * Adds what the sums lack of what the records say. One statement sees both as they are at one moment, so that it takes
 * nothing from what others reserve meanwhile; two such statements must not run at a time.
 */
export async function recountReservations(sql: Sql): Promise<void> {
  await sql.run(
    `insert into reservations (pool, segments, cluster, bytes, volumes, snapshots)
     select pool, segments, cluster, sum(bytes), sum(volumes), sum(snapshots) from (
       select pool, coalesce(segments, '') as segments, cluster, reserved_bytes as bytes, 1 as volumes, 0 as snapshots
         from volumes
       union all select pool, coalesce(segments, ''), cluster, reserved_bytes, 0, 1 from snapshots
       union all select pool, segments, cluster, -bytes, -volumes, -snapshots from reservations
     ) as differences group by pool, segments, cluster
     having sum(bytes) <> 0 or sum(volumes) <> 0 or sum(snapshots) <> 0 ${adding}`,
  );
  await sql.run('delete from reservations where bytes = 0 and volumes = 0 and snapshots = 0');
}

async function add(
  sql: Sql,
  reserved: Reserved,
  { bytes, count }: { readonly bytes: number; readonly count: -1 | 0 | 1 },
): Promise<void> {
  if (bytes === 0 && count === 0) return;
  const isSnapshot = reserved.volumeId !== undefined;
  await sql.write(
    `insert into reservations (pool, segments, cluster, bytes, volumes, snapshots) values (?, ?, ?, ?, ?, ?) ${adding}`,
    ...keyOf(reserved),
    bytes,
    isSnapshot ? 0 : count,
    isSnapshot ? count : 0,
  );
}

function keyOf({ pool, segments, cluster }: Reserved): readonly SqlValue[] {
  return [pool, segments ? segmentsText(segments) : '', cluster];
}
