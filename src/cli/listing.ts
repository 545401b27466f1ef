import { suggest } from '../lib/words/suggest.ts';
import type { Connection } from './connection.ts';
import type { Entry, Kind, Query } from './kind.ts';
import { kinds } from './kinds/index.ts';

/** The part of a connection that lists entries. */
export type Lister = Pick<Connection, 'client' | 'call'>;

/** A query, and a condition that the gateway does not know. `limit` counts the entries that meet it. */
export type Listing<E extends Entry = Entry> = Query & { readonly matches?: (entry: E) => boolean };

/** Lists the entries that match the query, at most `limit`, and holds only one page of them. No page is empty. */
export async function* listPages<E extends Entry>(
  { client, call }: Lister,
  kind: Kind<E>,
  { limit = Infinity, matches, ...query }: Listing<E>,
): AsyncGenerator<readonly E[], void> {
  let left = limit;
  for (let pageToken: string | undefined = ''; pageToken !== undefined && left > 0;) {
    const isLimited = left < Infinity && !matches;
    const page = await kind.page(client, { ...query, pageToken, ...(isLimited && { limit: left }) }, call());
    const entries = (matches ? page.entries.filter(matches) : page.entries).slice(0, left);
    left -= entries.length;
    if (entries.length > 0) yield entries;
    pageToken = page.nextPageToken;
  }
}

/** Lists all entries that match the query, at most `limit`. */
export async function listAll<E extends Entry>(
  connection: Lister,
  kind: Kind<E>,
  listing: Listing<E>,
): Promise<readonly E[]> {
  return (await Array.fromAsync(listPages(connection, kind, listing))).flat();
}

/** Returns a sentence if there is no such cluster. */
export async function findClusterFault(connection: Lister, cluster: string): Promise<string | undefined> {
  const [found] = await listAll(connection, kinds.clusters, { id: cluster });
  if (found) return undefined;
  const names = (await listAll(connection, kinds.clusters, {})).map(({ id }) => id);
  return `there is no cluster "${cluster}"${suggest(cluster, names)}; list all with fairlead get clusters -A`;
}
