import type { Problem } from '../../src/api/problem.ts';
import type { Reader, Sql } from '../store.ts';
import { integer, table, text, type RecordOf } from './table.ts';

const columns = {
  kind: text<'volume' | 'snapshot' | 'group'>(),
  id: text(),
  owner: text(),
  operation: text(),
  sinceMs: integer(),
  untilMs: integer(),
};

/** Who works on a resource, on what, and until when no other gateway may. Times are milliseconds since the epoch. */
export type Claim = RecordOf<typeof columns>;

/** What can be worked on by one at a time. */
export type Resource = Pick<Claim, 'kind' | 'id'>;

/** All claims. */
export const claimTable = table('claims', { key: ['kind', 'id'], columns });

/** How a claim is taken: what claim was found, for how long, and why it cannot be while that one holds. */
type Acquiring = {
  readonly found: Claim | undefined;
  readonly leaseMs: number;
  readonly busy: (holder: Claim) => Problem;
};

/**
 * Claims the resource for `leaseMs`; fails with `busy` when another owner's claim holds. The claim is guarded in the
 * statement itself, so that of two that are taken at once one fails, whatever was found.
 */
export async function acquireClaim(
  sql: Sql,
  asked: Omit<Claim, 'sinceMs' | 'untilMs'>,
  { found, leaseMs, busy }: Acquiring,
): Promise<void> {
  const sinceMs = await sql.now();
  if (found && found.owner !== asked.owner && found.untilMs > sinceMs) throw busy(found);
  const claim = { ...asked, sinceMs, untilMs: sinceMs + leaseMs };
  const mayClaim = 'where claims.owner = excluded.owner or claims.until_ms <= ?';
  await sql.require(() => busy(found ?? claim), ...claimTable.putting(claim, mayClaim, sinceMs));
}

/** Lengthens the owner's claim to `leaseMs` from now while it is still the owner's. */
export async function renewClaim(
  sql: Sql,
  { kind, id, owner }: Pick<Claim, 'kind' | 'id' | 'owner'>,
  leaseMs: number,
): Promise<void> {
  const renewing = 'update claims set until_ms = ? where kind = ? and id = ? and owner = ?';
  await sql.write(renewing, (await sql.now()) + leaseMs, kind, id, owner);
}

/**
 * No claim holds longer than until `untilMs`, whatever it says: it was made by a clock that was ahead. A holder that is
 * alive renews its own.
 */
export async function limitClaims(sql: Sql, untilMs: number): Promise<void> {
  await sql.write('update claims set until_ms = ? where until_ms > ?', untilMs, untilMs);
}

/** Removes claims that had ended by then; whoever still holds one of them finds it lost. */
export async function removeEndedClaims(sql: Sql, beforeMs: number): Promise<void> {
  await sql.write('delete from claims where until_ms < ?', beforeMs);
}

/** Frees the resource; fails with `lost` when the claim is the owner's no more. */
export async function releaseClaim(
  sql: Sql,
  { kind, id, owner }: Pick<Claim, 'kind' | 'id' | 'owner'>,
  lost: () => Problem,
): Promise<void> {
  await sql.require(lost, 'delete from claims where kind = ? and id = ? and owner = ?', kind, id, owner);
}

/**
 * The ids of a kind on which work was begun and not ended, and which is not claimed at `nowMs`. Members of groups
 * are their group's.
 */
export async function listUnfinished(
  sql: Reader,
  kind: Resource['kind'],
  nowMs: number,
): Promise<readonly string[]> {
  const unclaimed = `${begun[kind]} except select id from claims where kind = ? and until_ms > ? order by id`;
  return (await sql.all(unclaimed, kind, nowMs)).map(({ id }) => String(id));
}

/** Each condition is that of a partial index. */
const begun: Readonly<Record<Resource['kind'], string>> = {
  volume: `select id from volumes where state <> 'deleted' and id in (
      select id from volumes where state <> 'ready'
      union select id from volumes where pending is not null
      union select volume_id from attachments where state <> 'attached')`,
  snapshot: `select id from snapshots where state <> 'ready' and group_id is null`,
  group: `select id from snapshot_groups where state <> 'ready'`,
};
