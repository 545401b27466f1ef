import type { Sql, SqlRow, SqlValue } from '../store.ts';

/** What can be worked on by one at a time. */
export type Resource = { readonly kind: 'volume' | 'snapshot' | 'group'; readonly id: string };

/** Who works on a resource, on what, and until when nobody else may. Times are milliseconds since the epoch. */
export type Claim = {
  readonly owner: string;
  readonly operation: string;
  readonly sinceMs: number;
  readonly untilMs: number;
};

/** A resource that is recorded, with the last claim on it that was not dropped. */
export type Claimed = Resource & { readonly claim: Claim | undefined };

const tables: Readonly<Record<Resource['kind'], string>> = {
  volume: 'volumes',
  snapshot: 'snapshots',
  group: 'snapshot_groups',
};

/** Sets a claim in an update, with `claimValues`. */
export const setClaim = 'claim_owner = ?, claim_operation = ?, claim_since = ?, claim_until = ?';

/** True of a row that nobody works on at the time that is given, in milliseconds since the epoch. */
export const isUnclaimed = '(claim_owner is null or claim_until <= ?)';

/** Takes the resource for `claim.owner`; whether it is free has been looked up before. */
export async function takeClaim(sql: Sql, { kind, id }: Resource, claim: Claim): Promise<void> {
  await sql.run(`update ${tables[kind]} set ${setClaim} where id = ?`, ...claimValues(claim), id);
}

/** Lengthens the claims on these resources while they are still the owner's. */
export async function renewClaims(
  sql: Sql,
  resources: readonly Resource[],
  { owner, untilMs }: Pick<Claim, 'owner' | 'untilMs'>,
): Promise<void> {
  for (const { kind, id } of resources)
    await sql.run(
      `update ${tables[kind]} set claim_until = ? where id = ? and claim_owner = ?`,
      untilMs,
      id,
      owner,
    );
}

/** Frees the resource. False when the claim is the owner's no more. */
export async function dropClaim(sql: Sql, { kind, id }: Resource, owner: string): Promise<boolean> {
  const table = tables[kind];
  return (
    (await sql.run(`update ${table} set claim_owner = null where id = ? and claim_owner = ?`, id, owner)) ===
    1
  );
}

/** The claim as the columns `claim_owner`, `claim_operation`, `claim_since`, `claim_until`. */
export function claimValues({ owner, operation, sinceMs, untilMs }: Claim): readonly SqlValue[] {
  return [owner, operation, sinceMs, untilMs];
}

/** The claim out of those columns. */
export function toClaim(row: SqlRow): Claim | undefined {
  if (row.claim_owner === null) return undefined;
  return {
    owner: String(row.claim_owner),
    operation: String(row.claim_operation),
    sinceMs: Number(row.claim_since),
    untilMs: Number(row.claim_until),
  };
}
