import type { Segments } from '../../src/api/topology.ts';
import type { Reader, Sql, SqlRow, SqlValue } from '../store.ts';
import { shareOf } from './shares.ts';
import { integer, segmentsText, table, text } from './table.ts';

/**
 * A volume or snapshot (only a snapshot has `volumeId`) and the bytes that it takes of its pool. `segments`
 * is undefined without a topology, and until the resource is created. Only a soft-deleted volume has `deletedAtMs`.
 */
type Reservation = {
  readonly nonce: string;
  readonly pool: string;
  readonly segments: Segments | undefined;
  readonly cluster: string;
  readonly reservedBytes: number;
  readonly volumeId?: string;
  readonly deletedAtMs?: number | undefined;
};

export type Usage = {
  readonly bytes: number;
  readonly volumes: number;
  readonly snapshots: number;
  /** The part of `bytes` that soft-deleted volumes reserve. */
  readonly deletedBytes: number;
  /** The soft-deleted part of `volumes`. */
  readonly deletedVolumes: number;
};

export type PoolUsage = Usage & { readonly pool: string };

/**
 * The name in rows that sum over all clusters, in place of a cluster's: a request that needs the sum of a pool reads the
 * same number of rows, however many clusters use the pool.
 */
const allClusters = '';
const areOfAll = `cluster = '${allClusters}'`;
/** Selects the sums of single clusters. */
export const areOfOne = `cluster <> '${allClusters}'`;

/**
 * The sums of all reservations, by pool, topology and cluster, and over all clusters. Each is the sum of its parts, so
 * that two requests of a cluster seldom wait for each other. A part alone has no meaning, and may be negative.
 */
export const reservationTable = table('reservations', {
  key: ['pool', 'segments', 'cluster', 'part'],
  columns: {
    pool: text(),
    segments: text(),
    cluster: text(),
    part: integer(),
    bytes: integer(),
    volumes: integer(),
    snapshots: integer(),
    deletedBytes: integer(),
    deletedVolumes: integer(),
  },
  indexes: ['reservations_by_cluster on reservations (cluster, pool)'],
});

/** The statements that give the table of an older store its counts. */
export const addCounts: readonly string[] = [
  ...['volumes', 'snapshots'].map(
    name => `alter table reservations add column ${name} bigint not null default 0`,
  ),
  'create index reservations_by_cluster on reservations (cluster)',
];

/** The statements that split the sums of an older store into parts. The next recount fills them. */
export const addParts: readonly string[] = ['drop table reservations', ...reservationTable.ddl];

/**
 * Replaces the reservation `before` by `after`; undefined is none. Call it in the transaction that changes
 * the record.
 */
export async function moveReservation(
  sql: Sql,
  before: Reservation | undefined,
  after: Reservation | undefined,
): Promise<void> {
  if (before && after && keyOf(before).join() === keyOf(after).join()) {
    const less = numbersOf(before);
    const more = numbersOf(after).map((number, index) => number - (less[index] ?? 0));
    return add(sql, after, more);
  }
  if (before) {
    const less = numbersOf(before).map(number => -number);
    await add(sql, before, less);
  }
  if (after) await add(sql, after, numbersOf(after));
}

/** Returns the numbers that the resource adds, in the order of `counted`. */
function numbersOf({ reservedBytes, volumeId, deletedAtMs }: Reservation): readonly number[] {
  const isVolume = Number(volumeId === undefined);
  const isDeleted = Number(deletedAtMs !== undefined);
  return [reservedBytes, isVolume, 1 - isVolume, isDeleted * reservedBytes, isDeleted];
}

const counted = ['bytes', 'volumes', 'snapshots', 'deleted_bytes', 'deleted_volumes'];
const numbers = counted.join(', ');
/** Selects the sum of each number. */
export const sums = counted.map(name => `sum(${name}) as ${name}`).join(', ');

/** Returns the cluster's usage of each pool, with its snapshots and its volumes that can be restored. */
export async function readUsage(sql: Reader, cluster: string): Promise<readonly PoolUsage[]> {
  const query = `select pool, ${sums} from reservations where cluster = ? group by pool order by pool`;
  const rows = await sql.all(query, cluster);
  return rows.map(toPoolUsage);
}

export async function listPoolsInUse(sql: Reader): Promise<readonly PoolUsage[]> {
  const rows = await sql.all(
    `select pool, ${sums} from reservations where ${areOfOne} group by pool order by pool`,
  );
  return rows.map(toPoolUsage);
}

export async function listPoolUsage(sql: Reader, pool: string): Promise<ReadonlyMap<string, Usage>> {
  const query = `select cluster, ${sums} from reservations where pool = ? and ${areOfOne} group by cluster order by cluster`;
  const rows = await sql.all(query, pool);
  return new Map(rows.map(row => [String(row.cluster), toUsage(row)]));
}

export async function readPoolUsage(sql: Reader, pool: string): Promise<Usage> {
  const [row] = await sql.all(`select ${sums} from reservations where pool = ? and ${areOfOne}`, pool);
  return toUsage(row);
}

/** Sums what all clusters reserve in the pool, in one topology, or in all if `segments` is undefined. */
export async function sumReserved(sql: Reader, pool: string, segments: Segments | undefined): Promise<Usage> {
  const summing = `select ${sums} from reservations where pool = ? and ${areOfAll}`;
  const [sum] = await (segments
    ? sql.all(`${summing} and segments = ?`, pool, segmentsText(segments))
    : sql.all(summing, pool));
  return toUsage(sum);
}

/** Adds the new row's numbers to the existing row's. */
const adding = `on conflict (pool, segments, cluster, part) do update
  set ${counted.map(name => `${name} = reservations.${name} + excluded.${name}`).join(', ')}`;

/**
 * Corrects the sums, of clusters from the records, and over all clusters from those of clusters. Each statement sees
 * both sides at the same moment, so it takes nothing from concurrent reservations. Two recounts must not run at the
 * same time.
 */
export async function recountReservations(sql: Sql): Promise<void> {
  const differing = `group by pool, segments, cluster
    having ${counted.map(name => `sum(${name}) <> 0`).join(' or ')} ${adding}`;
  const correcting = `insert into reservations (pool, segments, cluster, part, ${numbers}) select pool, segments, cluster, 0, ${sums} from`;
  const subtracted = counted.map(name => `-${name}`).join(', ');
  const [ofDeleted, zero] = ['case when deleted_at_ms is null then 0 else', 'cast(0 as bigint)'];
  await sql.run(
    `${correcting} (
       select pool, coalesce(segments, '') as segments, cluster, reserved_bytes as bytes, 1 as volumes,
           ${zero} as snapshots, ${ofDeleted} reserved_bytes end as deleted_bytes, ${ofDeleted} 1 end as deleted_volumes
         from volumes
       union all select pool, coalesce(segments, ''), cluster, reserved_bytes, 0, 1, 0, 0 from snapshots
       union all select pool, segments, cluster, ${subtracted} from reservations where ${areOfOne}
     ) as differences ${differing}`,
  );
  await sql.run(
    `${correcting} (
       select pool, segments, '${allClusters}' as cluster, ${numbers} from reservations where ${areOfOne}
       union all select pool, segments, cluster, ${subtracted} from reservations where ${areOfAll}
     ) as differences ${differing}`,
  );
  await sql.run(`delete from reservations where ${counted.map(name => `${name} = 0`).join(' and ')}`);
}

function toPoolUsage(row: SqlRow): PoolUsage {
  return { pool: String(row.pool), ...toUsage(row) };
}

function toUsage(row: SqlRow | undefined): Usage {
  return {
    bytes: Number(row?.bytes ?? 0),
    volumes: Number(row?.volumes ?? 0),
    snapshots: Number(row?.snapshots ?? 0),
    deletedBytes: Number(row?.deleted_bytes ?? 0),
    deletedVolumes: Number(row?.deleted_volumes ?? 0),
  };
}

/** Adds these numbers, in the order of `counted`. */
async function add(sql: Sql, reserved: Reservation, more: readonly number[]): Promise<void> {
  if (more.every(number => number === 0)) return;
  const row = `(?, ?, ?, ?, ${counted.map(() => '?').join(', ')})`;
  await sql.write(
    `insert into reservations (pool, segments, cluster, part, ${numbers}) values ${row}, ${row} ${adding}`,
    // All requests lock the rows of a pool in this order, so none waits for one that waits for it.
    ...keyOf({ ...reserved, cluster: allClusters }),
    ...more,
    ...keyOf(reserved),
    ...more,
  );
}

function keyOf({ nonce, pool, segments, cluster }: Reservation): readonly SqlValue[] {
  return [pool, segments ? segmentsText(segments) : '', cluster, shareOf(nonce)];
}
