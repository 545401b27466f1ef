import type { z } from 'zod';
import type { AdminVolume, VolumeOrder } from '../api/admin.ts';
import type { StorageClient } from '../api/client.ts';
import type { Call } from '../api/http.ts';
import { clusterOf, readNodeId } from '../api/ids.ts';
import { formatSegments, type Segments } from '../api/topology.ts';
import type { Copier, Grant } from '../api/volume.ts';
import type { Numbers, Unit } from './output/values.ts';

export type Entry = { readonly id: string };

/** The filters and the order of a list; without any, everything is listed by id. */
export type Query = Readonly<
  Partial<
    Record<
      | 'cluster'
      | 'id'
      | 'search'
      | 'volumeId'
      | 'copyOf'
      | 'nodeId'
      | 'resource'
      | 'pool'
      | 'since'
      | 'until',
      string
    >
  >
> & {
  readonly state?: AdminVolume['state'];
  readonly orderBy?: VolumeOrder;
  readonly limit?: number;
};

type Value = string | number | undefined;

/** The present time, and the form of numbers in cells. */
export type View = { readonly nowMs: number; readonly numbers: Numbers };

/** A column of a table. Rows are sorted by its values. A number with a `unit` is shown in this unit. */
export type Column<E extends Entry = Entry> = {
  readonly head: string;
  of(entry: E, view: View): Value;
  readonly unit?: Unit;
  /** True for a column of `-o wide` only. */
  readonly isWide?: boolean;
};

/** Names the member of JSON that holds the entries of a kind: `auditLog` for `audit-log`. */
export function memberOf(name: string): string {
  return name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

export type Kind<E extends Entry = Entry> = {
  readonly one: string;
  /** Other names of the list in commands. */
  readonly aliases: readonly string[];
  readonly doc: string;
  /** The members of an entry, as in JSON. */
  readonly schema: z.ZodType;
  readonly columns: readonly Column<E>[];
  /** True for a log: entries never change, the newest comes first, and a list without a limit would be too long. */
  readonly isLog?: boolean;
  /** Makes the query for the entries with this value in a column; absent or undefined if the gateway has none. */
  filter?(head: string, value: string): Query | undefined;
  /** The columns, with a dash for the opposite, by which the gateway lists all entries. */
  readonly orders?: readonly VolumeOrder[];
  /** Makes the query for a name that a user typed, in `cluster` when one is chosen. A query with an `id` finds at most one entry. */
  ask(name: string, cluster?: string): Query;
  page(client: StorageClient, query: Query & { readonly pageToken: string }, call: Call): Promise<Page<E>>;
};

type Page<E> = { readonly entries: readonly E[]; readonly nextPageToken?: string | undefined };

/** Infers the type of a kind's entries from its row. */
export function kind<E extends Entry>(row: Kind<E>): Kind<E> {
  return row;
}

export const ageColumn = {
  head: 'age',
  of: ({ createdAt }: { createdAt: string }, { nowMs }: View) => nowMs - Date.parse(createdAt),
  unit: 'ms',
} as const;

export function sizeColumn<E>(head: string, of: (entry: E) => number | undefined) {
  return { head, of, unit: 'bytes' } as const;
}

export function wide<C extends object>(column: C): C & { readonly isWide: true } {
  return { ...column, isWide: true };
}

/** Returns the node's name, which is its id without the key. */
export function nameOf(nodeId: string): string {
  return readNodeId(nodeId).name;
}

export function join(words: readonly string[] = []): string {
  return words.join(',');
}

export function showTopologies(topologies: readonly Segments[] | undefined): string {
  return join(topologies?.map(formatSegments));
}

/** Shows a grant to another cluster, such as `west:read-only`, or `west:copy` for one of copies. */
export function showGrant(grant: Copier & { readonly access?: Grant['access'] }): string {
  const { cluster, access = 'copy', isAccepted } = grant;
  return `${cluster}:${access}${isAccepted === false ? ':not-accepted' : ''}`;
}

/** Makes queries by id, which put the chosen cluster in front of a name that has none. */
export function ofCluster(separator: '.' | '/'): Kind['ask'] {
  return (name, cluster) => {
    const isWhole = cluster === undefined || name.includes('/') || (separator === '.' && clusterOf(name));
    return { id: isWhole ? name : `${cluster}${separator}${name}` };
  };
}

export function toPage<N extends string, E extends Entry>(
  answer: { readonly [K in N]: readonly E[] } & { readonly nextPageToken?: string | undefined },
  name: N,
): Page<E> {
  return { entries: answer[name], nextPageToken: answer.nextPageToken };
}
