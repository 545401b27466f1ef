import { clusterOf } from '../../src/api/ids.ts';
import { Problem } from '../../src/api/problem.ts';
import { maxBodyBytes } from '../../src/api/operations.ts';

/** Which page of a list: at most `limit` entries after what `pageToken` names. */
export type PageQuery = { readonly limit: number; readonly pageToken?: string | undefined };

/** The lists of what all clusters have. */
export type AnyListName =
  | 'volumes'
  | 'snapshots'
  | 'attachments'
  | 'nodes'
  | 'pools'
  | 'clusters'
  | 'operations'
  | 'queues';

/** The lists that have pages. A token of one is no token of another. */
type ListName = `volumes/${string}` | 'snapshots' | 'health' | 'nodes' | 'audit-log' | `any-${AnyListName}`;

/** A page ends before its text passes this many characters: written at once, it is the work of two milliseconds. */
const pageTextCap = maxBodyBytes / 8;

/** How many rows are read at a time; they are the work of a few milliseconds. */
const pieceSize = 50;

/**
 * The id after which the page begins; the first begins after none. ABORTED when this list of this cluster, or without one
 * that of all, gave no such token.
 */
export function fromPageToken(
  cluster: string | undefined,
  pageToken: string | undefined,
  list: ListName,
): string {
  if (pageToken === undefined) return '';
  const prefix = toPageToken('', list);
  const afterId = pageToken.slice(prefix.length);
  // A node's id does not have its cluster's name in it.
  const isOwn = cluster === undefined || list === 'nodes' || clusterOf(afterId) === cluster;
  if (!pageToken.startsWith(prefix) || !isOwn)
    throw new Problem('ABORTED', 'the page token is not one that this list gave; begin anew');
  return afterId;
}

/** At most so many rows by id, read a few at a time: `read` is to be one piece of work. */
export async function readInPieces<T extends { readonly id: string }>(
  { afterId, limit }: { readonly afterId: string; readonly limit: number },
  read: (afterId: string, limit: number) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const rows: T[] = [];
  for (;;) {
    const asked = Math.min(limit - rows.length, pieceSize);
    const piece = await read(rows.at(-1)?.id ?? afterId, asked);
    rows.push(...piece);
    if (piece.length < asked || rows.length >= limit) return rows;
  }
}

/** As many entries by id as one page may hold, read a few at a time; a token for the rest when there are more. */
export async function readPage<T extends { readonly id: string }>(
  { afterId, limit, list }: { readonly afterId: string; readonly limit: number; readonly list: ListName },
  read: (afterId: string, limit: number) => Promise<readonly T[]>,
): Promise<{ readonly entries: T[]; readonly nextPageToken?: string }> {
  const entries: T[] = [];
  let length = 0;
  for (;;) {
    const asked = Math.min(limit + 1 - entries.length, pieceSize);
    const piece = await read(entries.at(-1)?.id ?? afterId, asked);
    for (const entry of piece) {
      length += JSON.stringify(entry).length;
      const last = entries.at(-1);
      if (last && (entries.length === limit || length > pageTextCap))
        return { entries, nextPageToken: toPageToken(last.id, list) };
      entries.push(entry);
    }
    if (piece.length < asked) return { entries };
  }
}

/** A token for the page that begins after the id. */
export function toPageToken(lastId: string, list: ListName): string {
  return `${list}:${lastId}`;
}
