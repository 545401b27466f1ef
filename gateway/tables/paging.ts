import { clusterOf } from '../../src/api/ids.ts';
import { maxAnswerBytes } from '../../src/api/limits.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Engine, Sql } from '../store.ts';

/** A page of a list: at most `limit` entries after the place that `pageToken` names. */
export type PageQuery = { readonly limit: number; readonly pageToken?: string | undefined };

/** At most `limit` rows by id after `afterId`. */
export type IdRange = { readonly afterId: string; readonly limit: number };

/** The start of a piece of a list: the id before it, and the number of entries. */
export type PieceStart = readonly [afterId: string, count: number];

export type AllListName =
  | 'volumes'
  | 'snapshots'
  | 'attachments'
  | 'nodes'
  | 'pools'
  | 'clusters'
  | 'operations'
  | 'queues';

/** The lists that have pages. A list refuses the tokens of other lists. */
type ListName =
  | `volumes/${string}`
  | 'snapshots'
  | 'health'
  | 'nodes'
  | 'audit-log'
  | 'history'
  | `all-${AllListName}`;

/** A page ends after this number of characters. To write a page of this size at once takes two milliseconds. */
const maxPageText = maxAnswerBytes / 8;

/** The number of rows in one read, which takes a few milliseconds. */
const pieceSize = 50;
/**
 * The number of entries in a page's first read. Later reads get as many entries as have about `pieceText`
 * characters.
 */
const firstPieceSize = 8;
const pieceText = 32_768;

/**
 * Returns the id before the page; '' is the first page. ABORTED when the token is not from this
 * list of this cluster, or, without a cluster, of all clusters.
 */
export function fromPageToken(
  cluster: string | undefined,
  pageToken: string | undefined,
  list: ListName,
): string {
  if (pageToken === undefined) return '';
  const prefix = toPageToken('', list);
  const afterId = pageToken.slice(prefix.length);
  // A node's id does not contain its cluster's name.
  const isOwn = cluster === undefined || list === 'nodes' || clusterOf(afterId) === cluster;
  if (!pageToken.startsWith(prefix) || !isOwn)
    throw new Problem('ABORTED', 'the page token is not from this list; read the list again from the start');
  return afterId;
}

/** Reads at most `limit` rows by id, a few at a time. Each call of `read` is one piece of work. */
export async function readInPieces<T extends { readonly id: string }>(
  { afterId, limit }: IdRange,
  read: (afterId: string, limit: number) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const rows: T[] = [];
  for (;;) {
    const size = Math.min(limit - rows.length, pieceSize);
    const piece = await read(rows.at(-1)?.id ?? afterId, size);
    rows.push(...piece);
    if (piece.length < size || rows.length >= limit) return rows;
  }
}

/** The number of transactions for one change. */
const maxPieces = 100;
/** The number of rows in one transaction. Other work of the process waits for it. */
const rowsPerChange = 100;

/**
 * Changes many rows in a series of transactions. `change` takes at most `limit` rows and returns the number
 * that it changed. If rows are left, the next call continues.
 */
export async function changeInPieces(
  { transaction }: Pick<Engine, 'transaction'>,
  change: (sql: Sql, limit: number) => Promise<number>,
): Promise<void> {
  for (let piece = 0; piece < maxPieces; piece++) {
    const changed = await transaction(sql => change(sql, rowsPerChange));
    if (changed < rowsPerChange) return;
  }
}

/** Reads all entries, `size` at a time: `read` continues after the entry `last`. */
export async function* readAllInPieces<T>(
  read: (last: T | undefined, limit: number) => Promise<readonly T[]>,
  size = pieceSize,
): AsyncGenerator<T, void> {
  let last: T | undefined;
  for (;;) {
    const piece = await read(last, size);
    yield* piece;
    last = piece.at(-1);
    if (piece.length < size) return;
  }
}

/**
 * Reads as many entries by id as fit into one page, a few at a time. Returns a token for the rest if there is
 * more. If `read` gives an asynchronous iterable, no entry beyond the page is read.
 */
export async function readPage<T extends { readonly id: string }>(
  { afterId, limit, list }: IdRange & { readonly list: ListName },
  read: (afterId: string, limit: number) => Promise<readonly T[]> | AsyncIterable<T>,
): Promise<{ readonly entries: T[]; readonly nextPageToken?: string }> {
  const entries: T[] = [];
  let [length, size] = [0, firstPieceSize];
  for (;;) {
    const wanted = Math.min(limit + 1 - entries.length, size);
    const before = entries.length;
    for await (const entry of await read(entries.at(-1)?.id ?? afterId, wanted)) {
      length += JSON.stringify(entry).length;
      const last = entries.at(-1);
      if (last && (entries.length === limit || length > maxPageText))
        return { entries, nextPageToken: toPageToken(last.id, list) };
      entries.push(entry);
    }
    if (entries.length - before < wanted) return { entries };
    const usual = length / entries.length;
    size = Math.max(1, Math.min(pieceSize, Math.floor(pieceText / usual)));
  }
}

export function toPageToken(lastId: string, list: ListName): string {
  return `${list}:${lastId}`;
}
