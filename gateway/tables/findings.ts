import type { Finding } from '../../src/api/admin.ts';
import type { Engine } from '../store.ts';
import { integer, table, text, type RecordOf } from './table.ts';

const columns = {
  pool: text(),
  kind: text<Finding['kind']>(),
  id: text(),
  problem: text<Finding['problem']>(),
  firstSeenMs: integer(),
};

/** What an audit found wrong with one resource, as far as findings differ by it. */
export type FindingKey = Omit<RecordOf<typeof columns>, 'firstSeenMs'>;

/** What is committed together; more would hold up others for long. */
const changesPerCommit = 100;

/** What the last audit found. */
export const findingTable = table('findings', { key: ['pool', 'kind', 'id', 'problem'], columns });

/** Records what is found now, removes what is not found any more, and returns when each was first found. */
export async function recordFindings<T extends FindingKey>(
  { reader, transaction }: Pick<Engine, 'reader' | 'transaction'>,
  found: readonly T[],
  nowMs: number,
): Promise<readonly (T & { readonly firstSeenMs: number })[]> {
  const known = new Map((await findingTable.select(reader, {})).map(record => [keyOf(record), record]));
  const current = new Set(found.map(keyOf));
  const dated = found.map(one => ({ ...one, firstSeenMs: known.get(keyOf(one))?.firstSeenMs ?? nowMs }));
  const changes = [
    ...known.entries().flatMap(([key, gone]) => (current.has(key) ? [] : [{ gone }])),
    ...dated.flatMap(one => (known.has(keyOf(one)) ? [] : [{ one }])),
  ];
  for (let done = 0; done < changes.length; done += changesPerCommit)
    await transaction(async sql => {
      for (const change of changes.slice(done, done + changesPerCommit))
        if ('gone' in change) await findingTable.remove(sql, change.gone);
        else await findingTable.insert(sql, change.one);
    });
  return dated;
}

function keyOf({ pool, kind, id, problem }: FindingKey): string {
  return `${pool} ${kind} ${id} ${problem}`;
}
