import type { Reader, Sql } from '../store.ts';
import { integer, table, text } from './table.ts';

/** What can be worked on by one at a time. */
export type Resource = { readonly kind: 'volume' | 'snapshot' | 'group'; readonly id: string };

/** Who works on a resource, on what, and until when nobody else may. Times are milliseconds since the epoch. */
export type Claim = Resource & {
  readonly owner: string;
  readonly operation: string;
  readonly sinceMs: number;
  readonly untilMs: number;
};

const claims = table<Claim, 'kind' | 'id'>('claims', {
  key: ['kind', 'id'],
  columns: {
    kind: text('kind'),
    id: text('id'),
    owner: text('owner'),
    operation: text('operation'),
    sinceMs: integer('since'),
    untilMs: integer('until'),
  },
});

/**
 * Claims the resource unless another owner's claim holds at `nowMs`. Undefined once it is claimed, else the claim that
 * holds. The claim is guarded in the statement itself, so that of two that are taken at once one fails.
 */
export async function acquireClaim(sql: Sql, claim: Claim, nowMs: number): Promise<Claim | undefined> {
  const { kind, id, owner, operation, sinceMs, untilMs } = claim;
  const taken = await sql.run(
    `insert into claims (kind, id, owner, operation, since, until) values (?, ?, ?, ?, ?, ?)
     on conflict (kind, id) do update set owner = excluded.owner, operation = excluded.operation,
       since = excluded.since, until = excluded.until
     where claims.owner = ? or claims.until <= ?`,
    kind,
    id,
    owner,
    operation,
    sinceMs,
    untilMs,
    owner,
    nowMs,
  );
  return taken > 0 ? undefined : ((await claims.find(sql, claim)) ?? claim);
}

/** Lengthens the owner's claim while it is still the owner's. */
export async function renewClaim(
  sql: Sql,
  { kind, id, owner, untilMs }: Pick<Claim, 'kind' | 'id' | 'owner' | 'untilMs'>,
): Promise<void> {
  await sql.run(
    'update claims set until = ? where kind = ? and id = ? and owner = ?',
    untilMs,
    kind,
    id,
    owner,
  );
}

/** Frees the resource. False when the claim is the owner's no more. */
export async function releaseClaim(sql: Sql, { kind, id }: Resource, owner: string): Promise<boolean> {
  return (await sql.run('delete from claims where kind = ? and id = ? and owner = ?', kind, id, owner)) > 0;
}

/**
 * The ids of a kind on which work was begun and not ended, and which nobody has claimed at `nowMs`. Members of groups
 * are their group's.
 */
export async function listUnfinished(
  sql: Reader,
  kind: Resource['kind'],
  nowMs: number,
): Promise<readonly string[]> {
  const rows = await sql.all(
    `${begun[kind]} except select id from claims where kind = ? and until > ? order by id`,
    kind,
    nowMs,
  );
  return rows.map(({ id }) => String(id));
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
