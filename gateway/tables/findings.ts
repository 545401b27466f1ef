import type { Finding } from '../../src/api/admin.ts';
import type { Engine, Reader } from '../store.ts';
import type { Slices } from '../scheduling/slices.ts';
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

type FindingRecord = RecordOf<typeof columns>;

/** The number of changes in one commit. More would delay other work. */
const changesPerCommit = 100;
/** The number of rows in one read. */
const pieceSize = 100;

/** The findings of the last check. */
export const findingTable = table('findings', { key: ['pool', 'kind', 'id', 'problem'], columns });

/** A finding with the time of its first check. */
type DatedFinding<T> = T & { readonly firstSeenMs: number };

/**
 * Records the present findings, and removes earlier ones that were not found again, except findings of pools that did
 * not answer. Returns each finding with the time of its first check.
 */
export async function recordFindings<T extends FindingKey>(
  { engine: { reader, transaction }, slices }: { readonly engine: Engine; readonly slices: Slices },
  found: readonly T[],
  { seenMs, unchecked }: { readonly seenMs: number; readonly unchecked: { has(pool: string): boolean } },
): Promise<readonly DatedFinding<T>[]> {
  const known = await readFindings(reader, slices);
  const dated: DatedFinding<T>[] = [];
  const added: DatedFinding<T>[] = [];
  await slices.work('operator', compare());
  const gone = known.values().filter(({ pool }) => !unchecked.has(pool));
  const changes = [...gone.map(one => ({ gone: one })), ...added.values().map(one => ({ one }))];
  for (let done = 0; done < changes.length; done += changesPerCommit)
    await transaction(async sql => {
      for (const change of changes.slice(done, done + changesPerCommit))
        if ('gone' in change) await findingTable.remove(sql, change.gone);
        else await findingTable.add(sql, change.one);
    });
  return dated;

  function* compare(): Generator<void, void> {
    for (const one of found) {
      yield;
      const before = known.get(keyOf(one));
      const now = { ...one, firstSeenMs: before?.firstSeenMs ?? seenMs };
      dated.push(now);
      if (!before) added.push(now);
      known.delete(keyOf(one));
    }
  }
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

async function readFindings(reader: Reader, slices: Slices): Promise<Map<string, FindingRecord>> {
  const known = new Map<string, FindingRecord>();
  const after = 'and (pool, kind, id, problem) > (?, ?, ?, ?) order by pool, kind, id, problem limit ?';
  for (let last = ['', '', '', '']; ;) {
    const piece = await slices.take('operator', () =>
      findingTable.select(reader, {}, after, ...last, pieceSize),
    );
    for (const one of piece) known.set(keyOf(one), one);
    const end = piece.at(-1);
    if (!end || piece.length < pieceSize) return known;
    last = [end.pool, end.kind, end.id, end.problem];
  }
}

function keyOf({ pool, kind, id, problem }: FindingKey): string {
  return `${pool} ${kind} ${id} ${problem}`;
}
