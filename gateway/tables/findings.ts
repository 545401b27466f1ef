import type { Finding } from '../../src/api/admin.ts';
import type { Engine, Reader } from '../store.ts';
import type { Turns } from '../tenancy/turns.ts';
import { integer, table, text, type RecordOf } from './table.ts';

const columns = {
  pool: text(),
  kind: text<Finding['kind']>(),
  id: text(),
  problem: text<Finding['problem']>(),
  firstSeenMs: integer(),
};

/** What an audit found wrong with one resource, as far as findings differ by it. */
export type FindingKey = Omit<FindingRecord, 'firstSeenMs'>;

type FindingRecord = RecordOf<typeof columns>;

/** What is committed together; more would hold up others for long. */
const changesPerCommit = 100;
/** How many are read at a time. */
const pieceSize = 100;

/** What the last audit found. */
export const findingTable = table('findings', { key: ['pool', 'kind', 'id', 'problem'], columns });

/** A finding, and when it was first found. */
type Dated<T> = T & { readonly firstSeenMs: number };

/**
 * Records what is found now, removes what is not found any more but for that of pools which could not be asked, and returns
 * when each was first found.
 */
export async function recordFindings<T extends FindingKey>(
  { engine: { reader, transaction }, turns }: { readonly engine: Engine; readonly turns: Turns },
  found: readonly T[],
  { nowMs, unasked }: { readonly nowMs: number; readonly unasked: { has(pool: string): boolean } },
): Promise<readonly Dated<T>[]> {
  const known = await readFindings(reader, turns);
  const dated: Dated<T>[] = [];
  const added: Dated<T>[] = [];
  await turns.work('operator', compare());
  const gone = known.values().filter(({ pool }) => !unasked.has(pool));
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
      const now = { ...one, firstSeenMs: before?.firstSeenMs ?? nowMs };
      dated.push(now);
      if (!before) added.push(now);
      known.delete(keyOf(one));
    }
  }
}

async function readFindings(reader: Reader, turns: Turns): Promise<Map<string, FindingRecord>> {
  const known = new Map<string, FindingRecord>();
  const after = 'and (pool, kind, id, problem) > (?, ?, ?, ?) order by pool, kind, id, problem limit ?';
  for (let last = ['', '', '', '']; ;) {
    const piece = await turns.take('operator', () =>
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
