import type { ProblemCode } from '../../../src/api/problem.ts';
import type { Engine, Reader } from '../../store.ts';
import { optional, table, text, type RecordOf } from '../table.ts';

const columns = {
  /** In the order of time, over all gateways as far as their clocks agree: see `auditIdAt`. */
  id: text(),
  /** The cluster that asked, or `operator`, or `gateway` for what nobody asked for. */
  actor: text(),
  /** Who of those it was, as its token says. */
  subject: optional(text()),
  /** Whose it is. */
  cluster: text(),
  operation: text(),
  kind: text<'volume' | 'snapshot' | 'group' | 'node'>(),
  resource: text(),
  about: optional(text()),
  code: text<'OK' | ProblemCode>(),
  requestId: optional(text()),
};

/** One thing that was done, or failed. */
export type AuditRecord = RecordOf<typeof columns>;

/** All that was done; rows are added, never changed, and removed when their time is over. */
export const auditTable = table('audit_log', {
  key: ['id'],
  columns,
  indexes: [
    'audit_log_by_cluster on audit_log (cluster, id)',
    'audit_log_by_resource on audit_log (resource, id)',
  ],
});

/** No id of a row that was written before this time, in milliseconds since the epoch, is as great; those after it are greater. */
export function auditIdAt(ms: number): string {
  return ms.toString(16).padStart(12, '0');
}

/** When the row was written, in milliseconds since the epoch. */
export function timeOfAuditId(id: string): number {
  return Number.parseInt(id.slice(0, 12), 16);
}

/** Which rows: those of these, from `fromId` on, and before `beforeId`. */
type AuditRange = {
  readonly cluster?: string | undefined;
  readonly resource?: string | undefined;
  readonly fromId: string;
  readonly beforeId: string;
};

/** At most `limit` of the rows, the newest first. */
export function listAudit(
  sql: Reader,
  { cluster, resource, fromId, beforeId }: AuditRange,
  limit: number,
): Promise<readonly AuditRecord[]> {
  const same = { ...(cluster !== undefined && { cluster }), ...(resource !== undefined && { resource }) };
  const range = 'and id >= ? and id < ? order by id desc limit ?';
  return auditTable.select(sql, same, range, fromId, beforeId, limit);
}

/** So many rows are removed in one transaction, and in so many transactions at a time. */
const prunedTogether = 500;
const mostPrunings = 20;

/** Removes rows that were written before this time; what is too much for now the next call removes. */
export async function pruneAudit({ transaction }: Engine, beforeMs: number): Promise<void> {
  const old = 'select id from audit_log where id < ? order by id limit ?';
  const deleting = `delete from audit_log where id in (${old})`;
  for (let round = 0; round < mostPrunings; round++) {
    const pruned = await transaction(sql =>
      sql.run(deleting, auditIdAt(Math.max(0, beforeMs)), prunedTogether),
    );
    if (pruned < prunedTogether) return;
  }
}
