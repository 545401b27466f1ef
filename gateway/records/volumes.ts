import type { Volume, VolumeSpec } from '../../src/api/resources.ts';
import type { Reader, Sql, SqlRow } from '../store.ts';

/** Who works on a volume, on what, and until when nobody else may. Times are milliseconds since the epoch. */
export type Claim = {
  readonly owner: string;
  readonly operation: string;
  readonly sinceMs: number;
  readonly untilMs: number;
};

/** What was asked when the volume was made; its name stands beside it. */
export type RecordedSpec = Omit<VolumeSpec, 'name'>;

/** A volume as it is recorded. */
export type VolumeRecord = {
  readonly id: string;
  readonly cluster: string;
  readonly name: string;
  readonly state: Volume['state'];
  readonly spec: RecordedSpec;
  readonly sizeBytes: number;
  readonly context: Readonly<Record<string, string>>;
  readonly createdAtMs: number;
  readonly claim: Claim | undefined;
};

/** Records a new volume in state creating, under a claim. False when the id is taken; nothing is changed then. */
export async function insertVolume(sql: Sql, volume: VolumeRecord, claim: Claim): Promise<boolean> {
  const changed = await sql.run(
    `insert into volumes (id, cluster, name, state, spec, size_bytes, context, created_at,
      claim_owner, claim_operation, claim_since, claim_until)
     values (?, ?, ?, 'creating', ?, 0, '{}', ?, ?, ?, ?, ?) on conflict (id) do nothing`,
    volume.id,
    volume.cluster,
    volume.name,
    JSON.stringify(volume.spec),
    volume.createdAtMs,
    claim.owner,
    claim.operation,
    claim.sinceMs,
    claim.untilMs,
  );
  return changed === 1;
}

/** The volume, or undefined when it is not recorded. */
export async function findVolume(sql: Reader, id: string): Promise<VolumeRecord | undefined> {
  const [row] = await sql.all('select * from volumes where id = ?', id);
  return row && toVolume(row);
}

/** At most `limit` volumes of the cluster whose ids come after `afterId`, by id. */
export async function listVolumes(
  sql: Reader,
  { cluster, afterId, limit }: { cluster: string; afterId: string; limit: number },
): Promise<readonly VolumeRecord[]> {
  const rows = await sql.all(
    'select * from volumes where cluster = ? and id > ? order by id limit ?',
    cluster,
    afterId,
    limit,
  );
  return rows.map(toVolume);
}

/** At most `limit` volumes after `afterId` on which work was begun, not ended, and is claimed by nobody now. */
export async function listUnfinished(
  sql: Reader,
  { afterId, limit, nowMs }: { afterId: string; limit: number; nowMs: number },
): Promise<readonly VolumeRecord[]> {
  const rows = await sql.all(
    `select * from volumes where id in (
       select id from volumes where state <> 'ready'
       union select volume_id from attachments where state <> 'attached'
     ) and id > ? and (claim_owner is null or claim_until <= ?) order by id limit ?`,
    afterId,
    nowMs,
    limit,
  );
  return rows.map(toVolume);
}

/** Takes the volume for `claim.owner` and sets its state; whether it is free has been looked up before. */
export async function claimVolume(
  sql: Sql,
  { id, state }: Pick<VolumeRecord, 'id' | 'state'>,
  claim: Claim,
): Promise<void> {
  await sql.run(
    `update volumes set state = ?, claim_owner = ?, claim_operation = ?, claim_since = ?, claim_until = ?
     where id = ?`,
    state,
    claim.owner,
    claim.operation,
    claim.sinceMs,
    claim.untilMs,
    id,
  );
}

/** Lengthens the claim while it is still the owner's. */
export async function renewClaim(
  sql: Sql,
  id: string,
  { owner, untilMs }: Pick<Claim, 'owner' | 'untilMs'>,
): Promise<void> {
  await sql.run('update volumes set claim_until = ? where id = ? and claim_owner = ?', untilMs, id, owner);
}

/** Records what was made and frees the volume. False when the claim is the owner's no more. */
export async function finishVolume(
  sql: Sql,
  volume: Pick<VolumeRecord, 'id' | 'sizeBytes' | 'context'>,
  owner: string,
): Promise<boolean> {
  const changed = await sql.run(
    `update volumes set state = 'ready', size_bytes = ?, context = ?, claim_owner = null where id = ? and claim_owner = ?`,
    volume.sizeBytes,
    JSON.stringify(volume.context),
    volume.id,
    owner,
  );
  return changed === 1;
}

/** Frees the volume and leaves it in `state`. False when the claim is the owner's no more. */
export async function releaseVolume(
  sql: Sql,
  { id, state }: Pick<VolumeRecord, 'id' | 'state'>,
  owner: string,
): Promise<boolean> {
  const changed = await sql.run(
    'update volumes set state = ?, claim_owner = null where id = ? and claim_owner = ?',
    state,
    id,
    owner,
  );
  return changed === 1;
}

/** Forgets the volume. False when the claim is the owner's no more. */
export async function removeVolume(sql: Sql, id: string, owner: string): Promise<boolean> {
  return (await sql.run('delete from volumes where id = ? and claim_owner = ?', id, owner)) === 1;
}

function toVolume(row: SqlRow): VolumeRecord {
  return {
    id: String(row.id),
    cluster: String(row.cluster),
    name: String(row.name),
    state: row.state as VolumeRecord['state'],
    spec: JSON.parse(String(row.spec)) as RecordedSpec,
    sizeBytes: Number(row.size_bytes),
    context: JSON.parse(String(row.context)) as Record<string, string>,
    createdAtMs: Number(row.created_at),
    claim: row.claim_owner === null ? undefined : toClaim(row),
  };
}

function toClaim(row: SqlRow): Claim {
  return {
    owner: String(row.claim_owner),
    operation: String(row.claim_operation),
    sinceMs: Number(row.claim_since),
    untilMs: Number(row.claim_until),
  };
}
