import type { Operations as Rows, Request } from '../../src/api/operations.ts';
import type { VolumeSource } from '../../src/api/volume.ts';
import type { Reader, SqlValue } from '../store.ts';
import { unindexed } from './table.ts';
import { sourceText } from './volumes.ts';
import type { PieceStart } from './paging.ts';

type Asked = Pick<Request<Rows['listAllVolumes']>, 'cluster' | 'id' | 'search' | 'pool' | 'state'>;

/** The filters of a list by id. A piece ends with the id `until`, and has only volumes with this source. */
export type IdFilters = Partial<Asked> & {
  readonly until?: string | undefined;
  readonly source?: VolumeSource | undefined;
};

export type IdTail = readonly [sql: string, ...values: SqlValue[]];

/** A table whose rows have an id. */
export type IdTable<R> = {
  readonly name: string;
  select(sql: Reader, same: Partial<R>, ...tail: IdTail): Promise<readonly R[]>;
};

/** The number of rows that one statement of a search looks at. Other requests wait meanwhile. */
const rowsPerSearch = 2_000;

/**
 * Returns the end of a query for a piece of a list by id, for one id, or for the ids that contain a text. Ids of a
 * cluster start with its name and a dot; the slash is the next character after the dot.
 */
export function pieceById(
  { cluster, id, search, pool, state, until, source }: IdFilters,
  [afterId, limit]: PieceStart,
): IdTail {
  const { first, end } = rangeOf(cluster);
  const conditions = [
    ['id > ?', afterId > first ? afterId : first],
    // SQLite would use only one of two upper bounds.
    until !== undefined && (end === undefined || until < end) ? ['id <= ?', until] : ['id < ?', end],
    ['id = ?', id],
    // Both databases know this, and no character of the text is a pattern.
    ["replace(id, ?, '') <> id", search],
    // An index of one of these columns would not have the order of the ids.
    [`${unindexed('pool')} = ?`, pool],
    [`${unindexed('state')} = ?`, state],
    ["state <> 'deleted' and source = ?", source && sourceText(source)],
  ].filter((one): one is [string, string] => one[1] !== undefined);
  const tail = conditions.map(([condition]) => `and ${condition}`).join(' ');
  return [`${tail} order by id limit ?`, ...conditions.map(([, value]) => value), limit];
}

function rangeOf(cluster: string | undefined): { readonly first: string; readonly end: string | undefined } {
  return cluster === undefined ? { first: '', end: undefined } : { first: `${cluster}.`, end: `${cluster}/` };
}

/**
 * Finds the next entries whose id contains the text. Few rows may match, so it looks at a bounded number of
 * rows in each time slice that `take` gives.
 */
export async function searchById<R>(
  reader: Reader,
  {
    table,
    same,
    filters,
    from: [afterId, limit],
  }: {
    readonly table: IdTable<R>;
    readonly same: Partial<R>;
    readonly filters: IdFilters;
    readonly from: PieceStart;
  },
  take: <T>(piece: () => Promise<T>) => Promise<T>,
): Promise<readonly R[]> {
  const { first, end = '' } = rangeOf(filters.cluster);
  const last = `select id from ${table.name} where id > ? order by id limit 1 offset ${rowsPerSearch - 1}`;
  const found: R[] = [];
  for (let after = afterId > first ? afterId : first; ;) {
    const until = await take(async () => {
      const [row] = await reader.all(last, after);
      const lastId = row && String(row['id']);
      const tail = pieceById({ ...filters, until: lastId }, [after, limit - found.length]);
      found.push(...(await table.select(reader, same, ...tail)));
      return lastId;
    });
    if (until === undefined || found.length >= limit || (end !== '' && until >= end)) return found;
    after = until;
  }
}
