import type { Problem } from '../../src/api/problem.ts';
import type { Reader, Sql } from '../store.ts';
import type { IdRange } from './paging.ts';
import { unfinishedSnapshots } from './snapshots.ts';
import { integer, table, text, type RecordOf } from './table.ts';
import { unfinishedVolumes } from './volumes.ts';

const columns = {
  kind: text<'volume' | 'snapshot' | 'group'>(),
  id: text(),
  owner: text(),
  operation: text(),
  sinceMs: integer(),
  untilMs: integer(),
};

/** A gateway's exclusive right to work on a resource, until `untilMs`. Times are milliseconds since the epoch. */
export type Claim = RecordOf<typeof columns>;

/** A resource that only one operation works on at a time. */
export type Resource = Pick<Claim, 'kind' | 'id'>;

const byEnd = 'claims_by_end on claims (until_ms)';

export const claimTable = table('claims', { key: ['kind', 'id'], columns, indexes: [byEnd] });

/** The statements that give the table of an older store its index. */
export const indexClaims: readonly string[] = [`create index if not exists ${byEnd}`];

/** The claim found before, the lease, and the error while that claim holds. */
type AcquireOptions = {
  readonly found: Claim | undefined;
  readonly leaseMs: number;
  readonly busy: (holder: Claim) => Problem;
};

/**
 * Claims the resource for `leaseMs`, or fails with `busy` while another owner's claim holds. The statement
 * itself guards the claim: of two concurrent ones, one fails, even if both found the resource free.
 */
export async function acquireClaim(
  sql: Sql,
  request: Omit<Claim, 'sinceMs' | 'untilMs'>,
  { found, leaseMs, busy }: AcquireOptions,
): Promise<void> {
  const sinceMs = await sql.now();
  if (found && found.owner !== request.owner && found.untilMs > sinceMs) throw busy(found);
  const claim = { ...request, sinceMs, untilMs: sinceMs + leaseMs };
  const mayClaim = 'where claims.owner = excluded.owner or claims.until_ms <= ?';
  await sql.require(() => busy(found ?? claim), ...claimTable.putting(claim, mayClaim, sinceMs));
}

/** Extends the claim to `leaseMs` from now, if the owner still has it. */
export async function renewClaim(
  sql: Sql,
  { kind, id, owner }: Pick<Claim, 'kind' | 'id' | 'owner'>,
  leaseMs: number,
): Promise<void> {
  const renewing = 'update claims set until_ms = ? where kind = ? and id = ? and owner = ?';
  await sql.write(renewing, (await sql.now()) + leaseMs, kind, id, owner);
}

/**
 * Ends at most `limit` claims at `untilMs` at the latest, because a clock that was ahead made them too long.
 * A live holder renews its claim. Returns the number of claims.
 */
export function limitClaims(sql: Sql, untilMs: number, limit: number): Promise<number> {
  const later = 'select kind, id from claims where until_ms > ? limit ?';
  const limiting = `update claims set until_ms = ? where (kind, id) in (${later})`;
  return sql.run(limiting, untilMs, untilMs, limit);
}

/**
 * Removes at most `limit` claims that ended before `beforeMs`; a holder of one then finds its claim lost.
 * Returns the number of claims.
 */
export function removeEndedClaims(sql: Sql, beforeMs: number, limit: number): Promise<number> {
  const ended = 'select kind, id from claims where until_ms < ? limit ?';
  // A claim that was renewed meanwhile stays. The sum keeps this condition from using an index.
  const removing = `delete from claims where until_ms + 0 < ? and (kind, id) in (${ended})`;
  return sql.run(removing, beforeMs, beforeMs, limit);
}

/** Frees the resource, or fails with `lost` when the owner has lost the claim. */
export async function releaseClaim(
  sql: Sql,
  { kind, id, owner }: Pick<Claim, 'kind' | 'id' | 'owner'>,
  lost: () => Problem,
): Promise<void> {
  await sql.require(lost, 'delete from claims where kind = ? and id = ? and owner = ?', kind, id, owner);
}

export type UnfinishedResource = { readonly id: string; readonly isClaimed: boolean };

/**
 * Returns at most `limit` unfinished resources of a kind by id after `afterId`; `isClaimed` says that a
 * gateway works on it at `nowMs`. Members of a group count only as their group.
 */
export async function listUnfinished(
  sql: Reader,
  kind: Resource['kind'],
  { afterId, limit, nowMs }: IdRange & { readonly nowMs: number },
): Promise<readonly UnfinishedResource[]> {
  const parts = unfinishedQueries[kind].map(part => `select id from (${part} limit ?) as part`);
  const claim = 'select 1 from claims where kind = ? and claims.id = unfinished.id and until_ms > ?';
  const rows = await sql.all(
    `select id, case when exists (${claim}) then 1 else 0 end as is_claimed
     from (${parts.join(' union ')} order by id limit ?) as unfinished order by id`,
    kind,
    nowMs,
    ...parts.flatMap(() => [afterId, limit]),
    limit,
  );
  return rows.map(({ id, is_claimed: isClaimed }) => ({ id: String(id), isClaimed: isClaimed === 1 }));
}

/** Queries whose conditions are each the condition of a partial index. */
const unfinishedQueries: Readonly<Record<Resource['kind'], readonly string[]>> = {
  volume: [
    `select id from volumes where ${unfinishedVolumes} and id > ? order by id`,
    `select distinct volume_id as id from attachments where state <> 'attached' and volume_id > ? order by volume_id`,
  ],
  snapshot: [`select id from snapshots where ${unfinishedSnapshots} and id > ? order by id`],
  group: [`select id from snapshot_groups where state <> 'ready' and id > ? order by id`],
};
