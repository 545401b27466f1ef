import type { Finding } from '../../src/api/admin.ts';
import type { Engine, Reader } from '../store.ts';
import { integer, table, text, type RecordOf } from './table.ts';

const columns = {
  pool: text(),
  kind: text<Finding['kind']>(),
  id: text(),
  problem: text<Finding['problem']>(),
  /** In time that gateways have seen: see `readMissed`. */
  firstSeenMs: integer(),
};

/** A fault of one resource that a check found. No two findings have the same key. */
export type FindingKey = Omit<FindingRecord, 'firstSeenMs'>;

export type FindingRecord = RecordOf<typeof columns>;

/** The number of changes in one commit. More would delay other work. */
const changesPerCommit = 100;

export const findingTable = table('findings', { key: ['pool', 'kind', 'id', 'problem'], columns });

/** Lists findings in the order of their keys, after one of them. */
export function readFindings(
  reader: Reader,
  after: FindingKey | undefined,
  limit: number,
): Promise<readonly FindingRecord[]> {
  const { pool, kind, id, problem } = after ?? { pool: '', kind: '', id: '', problem: '' };
  const order = 'order by pool, kind, id, problem limit ?';
  const rest = `and (pool, kind, id, problem) > (?, ?, ?, ?) ${order}`;
  return findingTable.select(reader, {}, rest, pool, kind, id, problem, limit);
}

/** Replaces findings by others, a few in each commit. */
export async function replaceFindings(
  { transaction }: Pick<Engine, 'transaction'>,
  { gone, added }: { readonly gone: readonly FindingRecord[]; readonly added: readonly FindingRecord[] },
): Promise<void> {
  const changes = [...gone.map(one => ({ gone: one })), ...added.map(one => ({ one }))];
  for (let done = 0; done < changes.length; done += changesPerCommit)
    await transaction(async sql => {
      for (const change of changes.slice(done, done + changesPerCommit))
        if ('gone' in change) await findingTable.remove(sql, change.gone);
        else await findingTable.add(sql, change.one);
    });
}

/** Work that was first found unfinished at or after this time is not stuck yet. */
const isReported = "and (problem <> 'stuck' or first_seen_ms < ?)";

/** Lists findings by pool and id. Work counts as stuck if it was first found unfinished before `stuckBeforeMs`. */
export function listFindings(
  reader: Reader,
  { stuckBeforeMs, limit }: { readonly stuckBeforeMs: number; readonly limit: number },
): Promise<readonly FindingRecord[]> {
  const order = 'order by pool, kind, id, problem limit ?';
  return findingTable.select(reader, {}, `${isReported} ${order}`, stuckBeforeMs, limit);
}

/** Counts the findings that `listFindings` lists, at most `max`. */
export function countFindings(
  reader: Reader,
  { stuckBeforeMs, max }: { readonly stuckBeforeMs: number; readonly max: number },
): Promise<number> {
  return findingTable.count(reader, { same: {}, max }, isReported, stuckBeforeMs);
}
