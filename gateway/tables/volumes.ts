import type { Volume, VolumeSource, VolumeSpec } from '../../src/api/volume.ts';
import type { Segments } from '../../src/api/topology.ts';
import type { SizeBounds } from '../backend.ts';
import type { Reader, Sql, SqlRow } from '../store.ts';
import { claimValues, isUnclaimed, setClaim, toClaim, type Claim, type Claimed } from './claims.ts';

/**
 * What was asked when the volume was made; its name stands beside it. Of the topology that was asked for, the places
 * that the storage had there, best first; absent when nothing was asked, or the storage had no places.
 */
export type RecordedSpec = Omit<VolumeSpec, 'name' | 'topology'> & {
  readonly places?: readonly Segments[] | undefined;
};

/** What was begun on a volume that is ready, and must be finished. */
export type Pending = {
  readonly expansion?: SizeBounds | undefined;
  readonly modification?: Readonly<Record<string, string>> | undefined;
};

/** A volume as it is recorded. */
export type VolumeRecord = Claimed & {
  readonly kind: 'volume';
  readonly cluster: string;
  readonly name: string;
  readonly state: Volume['state'];
  readonly spec: RecordedSpec;
  readonly sizeBytes: number;
  readonly context: Readonly<Record<string, string>>;
  readonly createdAtMs: number;
  /** The mutable parameters as they are now, as far as that is certain. */
  readonly mutableParameters: Readonly<Record<string, string>>;
  readonly nodeExpansionRequired: boolean;
  /** A node could write to it as a raw device: it may hold data that no filesystem's probe knows. */
  readonly usedRaw: boolean;
  readonly pending: Pending;
  /** Where it is; undefined: it is reached from everywhere, or not made yet. */
  readonly place: Segments | undefined;
};

/** Records a new volume in state creating, under a claim. False when the id is taken; nothing is changed then. */
export async function insertVolume(sql: Sql, volume: VolumeRecord, claim: Claim): Promise<boolean> {
  const changed = await sql.run(
    `insert into volumes (id, cluster, name, state, spec, source, mutable_parameters, size_bytes, context, created_at,
      claim_owner, claim_operation, claim_since, claim_until)
     values (?, ?, ?, 'creating', ?, ?, ?, 0, '{}', ?, ?, ?, ?, ?) on conflict (id) do nothing`,
    volume.id,
    volume.cluster,
    volume.name,
    JSON.stringify(volume.spec),
    sourceKey(volume.spec.source),
    JSON.stringify(volume.mutableParameters),
    volume.createdAtMs,
    ...claimValues(claim),
  );
  return changed === 1;
}

/** The volume, or undefined when it is not recorded, or deleted and only kept. */
export async function findVolume(sql: Reader, id: string): Promise<VolumeRecord | undefined> {
  const [row] = await sql.all(`select * from volumes where id = ? and state <> 'deleted'`, id);
  return row && toVolume(row);
}

/** At most `limit` volumes of the cluster whose ids come after `afterId`, by id. */
export async function listVolumes(
  sql: Reader,
  { cluster, afterId, limit }: { cluster: string; afterId: string; limit: number },
): Promise<readonly VolumeRecord[]> {
  const rows = await sql.all(
    `select * from volumes where cluster = ? and id > ? and state <> 'deleted' order by id limit ?`,
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
       union select id from volumes where pending is not null
       union select volume_id from attachments where state <> 'attached'
     ) and state <> 'deleted' and id > ? and ${isUnclaimed} order by id limit ?`,
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
  await sql.run(`update volumes set state = ?, ${setClaim} where id = ?`, state, ...claimValues(claim), id);
}

/** Records what was made and frees the volume. False when the claim is the owner's no more. */
export async function finishVolume(
  sql: Sql,
  volume: Pick<VolumeRecord, 'id' | 'sizeBytes' | 'context' | 'place'>,
  owner: string,
): Promise<boolean> {
  const changed = await sql.run(
    `update volumes set state = 'ready', size_bytes = ?, context = ?, place = ?, claim_owner = null
     where id = ? and claim_owner = ?`,
    volume.sizeBytes,
    JSON.stringify(volume.context),
    volume.place ? JSON.stringify(volume.place) : null,
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

/** One of the volumes that are being made from the source, or undefined when there is none. */
export async function findVolumeMadeFrom(sql: Reader, source: VolumeSource): Promise<string | undefined> {
  const [row] = await sql.all(
    `select id from volumes where state <> 'ready' and state = 'creating' and source = ? limit 1`,
    sourceKey(source),
  );
  return row && String(row.id);
}

/** Records what is begun on the volume and not done yet. */
export async function putPending(sql: Sql, id: string, pending: Pending): Promise<void> {
  const text = JSON.stringify(pending);
  await sql.run('update volumes set pending = ? where id = ?', text === '{}' ? null : text, id);
}

/** Records the size that the volume has grown to. */
export async function putSize(
  sql: Sql,
  { id, sizeBytes, nodeExpansionRequired }: Pick<VolumeRecord, 'id' | 'sizeBytes' | 'nodeExpansionRequired'>,
): Promise<void> {
  await sql.run(
    'update volumes set size_bytes = ?, node_expansion = ? where id = ?',
    sizeBytes,
    nodeExpansionRequired ? 1 : 0,
    id,
  );
}

/** Records for good that the volume was given to a node as a raw device that can be written. */
export async function markUsedRaw(sql: Sql, id: string): Promise<void> {
  await sql.run('update volumes set used_raw = 1 where id = ?', id);
}

/** Records the mutable parameters that the volume has now. */
export async function putMutableParameters(
  sql: Sql,
  { id, mutableParameters }: Pick<VolumeRecord, 'id' | 'mutableParameters'>,
): Promise<void> {
  const text = JSON.stringify(mutableParameters);
  await sql.run('update volumes set mutable_parameters = ? where id = ?', text, id);
}

function sourceKey(source: VolumeSource | undefined): string | null {
  if (!source) return null;
  return source.kind === 'snapshot' ? `snapshot ${source.snapshotId}` : `volume ${source.volumeId}`;
}

function toVolume(row: SqlRow): VolumeRecord {
  return {
    kind: 'volume',
    id: String(row.id),
    cluster: String(row.cluster),
    name: String(row.name),
    state: row.state as VolumeRecord['state'],
    spec: JSON.parse(String(row.spec)) as RecordedSpec,
    sizeBytes: Number(row.size_bytes),
    context: JSON.parse(String(row.context)) as Record<string, string>,
    createdAtMs: Number(row.created_at),
    mutableParameters: JSON.parse(String(row.mutable_parameters)) as Record<string, string>,
    nodeExpansionRequired: row.node_expansion === 1,
    usedRaw: row.used_raw === 1,
    pending: row.pending === null ? {} : (JSON.parse(String(row.pending)) as Pending),
    place: row.place === null ? undefined : (JSON.parse(String(row.place)) as Segments),
    claim: toClaim(row),
  };
}
