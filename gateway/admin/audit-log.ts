import type { AuditEntry } from '../../src/api/admin.ts';
import type { Operations as Rows, Output, Request } from '../../src/api/operations.ts';
import type { Engine } from '../store.ts';
import { auditIdAt, type AuditRecord, listAuditEntries, timeOfAuditId } from '../tables/audit-log.ts';
import { fromPageToken, readPage } from '../tables/paging.ts';
import type { Slices } from '../scheduling/slices.ts';

/** A bound after all ids. */
const afterAll = 'g';

/** Returns a page of the audit log, the newest entries first. */
export async function listAuditLog(
  { engine, slices }: { readonly engine: Engine; readonly slices: Slices },
  { since = 0, until, cluster, resource, limit, pageToken }: Request<Rows['listAuditLog']>,
): Promise<Output<Rows['listAuditLog']>> {
  const fromId = auditIdAt(Math.max(0, since));
  const newest = until === undefined ? afterAll : auditIdAt(Math.max(0, until));
  const afterId = fromPageToken(undefined, pageToken, 'audit-log');
  return readPage({ afterId, limit, list: 'audit-log' }, (after, count) =>
    slices.take('operator', async () => {
      const range = { cluster, resource, fromId, beforeId: after === '' ? newest : after };
      return (await listAuditEntries(engine.reader, range, count)).map(toEntry);
    }),
  );
}

function toEntry(record: AuditRecord): AuditEntry {
  const { id, actor, subject, operation, kind, resource, about, code, detail, requestId, count, firstMs } =
    record;
  return {
    id,
    at: new Date(timeOfAuditId(id)).toISOString(),
    actor,
    ...(subject !== undefined && { subject }),
    operation,
    kind,
    resource,
    ...(about !== undefined && { about }),
    code,
    ...(detail !== undefined && { detail }),
    ...(requestId !== undefined && { requestId }),
    ...(firstMs !== undefined && { count, firstAt: new Date(firstMs).toISOString() }),
  };
}
