import type { ProblemCode } from '../../src/api/problem.ts';
import type { Engine, Reader, Sql } from '../store.ts';
import { changeInPieces } from './paging.ts';
import { integer, optional, table, text, unindexed, type RecordOf } from './table.ts';

const columns = {
  /** Sorts by time, over all gateways as far as their clocks agree: see `auditIdAt`. */
  id: text(),
  /** The calling cluster, or `operator`, or `gateway` for work that the gateway began by itself. */
  actor: text(),
  /** The caller's name in its token, such as the `kid`. */
  subject: optional(text()),
  /** The owner of the resource; empty for a pool. */
  cluster: text(),
  operation: text(),
  kind: text<'volume' | 'snapshot' | 'group' | 'node' | 'pool' | 'cluster'>(),
  resource: text(),
  about: optional(text()),
  code: text<'OK' | ProblemCode>(),
  /** The words of a failure; undefined for a success, and for an entry of an older release. */
  detail: optional(text()),
  requestId: optional(text()),
  /** Equal for all refusals that one entry counts; undefined for a change, and for a refusal of an older release. */
  refusal: optional(text()),
  /** The number of equal refusals. All other columns are from the last one. */
  count: integer(),
  /** The time of the first refusal, in milliseconds since the epoch. */
  firstMs: optional(integer()),
};

export type AuditRecord = RecordOf<typeof columns>;

/** The name of a transfer in the audit log. */
export const transferName = 'transfer';

const indexes: readonly string[] = [
  'audit_log_by_cluster on audit_log (cluster, id)',
  'audit_log_by_resource on audit_log (resource, id)',
];

/** The statements that gave an older store the table, as it was then. */
export const addAuditLog: readonly string[] = [
  `create table audit_log (id text not null, actor text not null, subject text, cluster text not null,
    operation text not null, kind text not null, resource text not null, about text, code text not null, request_id text,
    primary key (id))`,
  ...indexes.map(index => `create index ${index}`),
];

const byRefusal = 'audit_log_by_refusal on audit_log (refusal) where refusal is not null';

/** The statements that let the table of an older store count refusals. */
export const addRefusals: readonly string[] = [
  'alter table audit_log add column refusal text',
  'alter table audit_log add column count bigint not null default 1',
  'alter table audit_log add column first_ms bigint',
  `create unique index ${byRefusal}`,
];

const transfers = `audit_log_transfers on audit_log (resource, id) where operation = '${transferName}'`;

/** The statement that lets the table of an older store keep the words of failures. */
export const addDetail = 'alter table audit_log add column detail text';

/** The statements that rename the transfers of an older store, and index them. */
export const indexAuditLog: readonly string[] = [
  `update audit_log set operation = '${transferName}' where operation = 'hand over'`,
  `create index ${transfers}`,
];

/**
 * The audit log. The row of a change stays as it is; the row of a refusal counts repetitions. Both are
 * removed when their time is over.
 */
export const auditTable = table('audit_log', {
  key: ['id'],
  columns,
  indexes: [...indexes, transfers],
  unique: [byRefusal],
});

/**
 * Returns a bound for ids: rows written before this time, in milliseconds since the epoch, have smaller ids,
 * and all later ones greater.
 */
export function auditIdAt(ms: number): string {
  return ms.toString(16).padStart(12, '0');
}

/** Returns the time of writing the row, in milliseconds since the epoch. */
export function timeOfAuditId(id: string): number {
  return Number.parseInt(id.slice(0, 12), 16);
}

type NewRecord = Omit<AuditRecord, 'refusal' | 'count' | 'firstMs'>;

export function addChange(sql: Sql, record: NewRecord): Promise<void> {
  return auditTable.add(sql, { ...record, refusal: undefined, count: 1, firstMs: undefined });
}

/** Equal refusals within this time are one entry, in milliseconds. */
const windowMs = 3_600_000;

const counting = `on conflict (refusal) where refusal is not null do update set id = excluded.id,
  resource = excluded.resource, about = excluded.about, detail = excluded.detail, request_id = excluded.request_id, count = audit_log.count + 1`;

/** The number of entries for one caller's refusals in an hour. Beyond it, resources share entries. */
export const maxRefusals = 1_000;

/**
 * Adds a refusal, or counts it in the entry of the same caller, operation, resource and code in the same
 * hour. Once the caller has `maxRefusals` entries in that hour, other resources share one entry per operation
 * and code, under the newest resource's name. So a caller that makes up names cannot fill the log.
 */
export async function addRefusal(sql: Sql, record: NewRecord): Promise<void> {
  const firstMs = timeOfAuditId(record.id);
  const refusal = await findRefusalKey(sql, record, Math.floor(firstMs / windowMs));
  await sql.write(...auditTable.inserting({ ...record, refusal, count: 1, firstMs }, counting));
}

async function findRefusalKey(sql: Reader, record: NewRecord, window: number): Promise<string> {
  const { actor, subject = '', cluster, operation, kind, code, resource } = record;
  const ofCaller = [window, actor, subject];
  const common = [...ofCaller, cluster, operation, kind, code];
  const own = JSON.stringify([...common, resource]);
  if ((await auditTable.count(sql, { same: { refusal: own }, max: 1 })) > 0) return own;
  // The keys of a caller's entries start with the caller's list and a comma. The dash is the next character
  // after the comma.
  const start = JSON.stringify(ofCaller).slice(0, -1);
  const entries = { same: {}, max: maxRefusals };
  const number = await auditTable.count(
    sql,
    entries,
    'and refusal >= ? and refusal < ?',
    `${start},`,
    `${start}-`,
  );
  return number < maxRefusals ? own : JSON.stringify(common);
}

/** A range of rows from `fromId` up to, but without, `beforeId`, of one cluster or resource if given. */
type AuditRange = {
  readonly cluster?: string | undefined;
  readonly resource?: string | undefined;
  readonly fromId: string;
  readonly beforeId: string;
};

/** Returns at most `limit` rows of the range, the newest first. */
export function listAuditEntries(
  sql: Reader,
  { cluster, resource, fromId, beforeId }: AuditRange,
  limit: number,
): Promise<readonly AuditRecord[]> {
  const range = 'and id >= ? and id < ? order by id desc limit ?';
  const values = [fromId, beforeId, limit] as const;
  if (resource === undefined)
    return auditTable.select(sql, cluster === undefined ? {} : { cluster }, range, ...values);
  if (cluster === undefined) return auditTable.select(sql, { resource }, range, ...values);
  return auditTable.select(sql, { resource }, `and ${unindexed('cluster')} = ? ${range}`, cluster, ...values);
}

/** Returns true when the last successful operation on the resource was its transfer to this id. */
export async function wasTransferred(sql: Reader, resource: string, id: string): Promise<boolean> {
  const transferred = `and operation = '${transferName}' and code = 'OK' order by id desc limit 1`;
  const [last] = await auditTable.select(sql, { resource }, transferred);
  if (last?.about !== id) return false;
  const [later] = await auditTable.select(sql, { resource }, `and id > ? and code = 'OK' limit 1`, last.id);
  return later === undefined;
}

/** Removes rows that were written before this time. The next call continues if there are too many for one. */
export function pruneAuditLog(engine: Engine, beforeMs: number): Promise<void> {
  const old = 'select id from audit_log where id < ? order by id limit ?';
  const deleting = `delete from audit_log where id in (${old})`;
  return changeInPieces(engine, (sql, limit) => sql.run(deleting, auditIdAt(Math.max(0, beforeMs)), limit));
}
