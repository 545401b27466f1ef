import { onOrOff, type SettingsOf } from '../lib/settings.ts';
import { suggest } from '../lib/words/suggest.ts';
import { contextSettings } from './commands/contexts.ts';
import type { Connection } from './connection.ts';
import type { Entry, Kind, Query } from './kind.ts';
import { kinds } from './kinds/index.ts';

/** The settings that choose the cluster of a list. */
export const clusterSettings = {
  cluster: contextSettings.cluster,
  'all-clusters': { doc: 'show all clusters, even if the context has a cluster', ...onOrOff, short: 'A' },
} as const;

/** Returns the chosen cluster; undefined for all. */
export function clusterOf(values: SettingsOf<typeof clusterSettings>): string | undefined {
  return values['all-clusters'] ? undefined : values.cluster;
}

/** A query, and a condition that the gateway does not know. `limit` counts the entries that meet it. */
export type Listing<E extends Entry = Entry> = Query & { readonly matches?: (entry: E) => boolean };

/** Lists all entries that match the query, at most `limit`, page by page. */
export async function listAll<E extends Entry>(
  { client, call }: Connection,
  kind: Kind<E>,
  { limit = Infinity, matches, ...query }: Listing<E>,
): Promise<readonly E[]> {
  const entries: E[] = [];
  for (let pageToken: string | undefined = ''; pageToken !== undefined && entries.length < limit;) {
    const left = limit - entries.length;
    const isLimited = left < Infinity && !matches;
    const page = await kind.page(client, { ...query, pageToken, ...(isLimited && { limit: left }) }, call());
    entries.push(...(matches ? page.entries.filter(matches) : page.entries));
    pageToken = page.nextPageToken;
  }
  return entries.slice(0, limit);
}

/** Returns a sentence if there is no such cluster. */
export async function findClusterFault(connection: Connection, cluster: string): Promise<string | undefined> {
  const [found] = await listAll(connection, kinds.clusters, { id: cluster });
  if (found) return undefined;
  const names = (await listAll(connection, kinds.clusters, {})).map(({ id }) => id);
  return `there is no cluster "${cluster}"${suggest(cluster, names)}; list all with fairlead get clusters -A`;
}
