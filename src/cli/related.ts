import type { AdminAttachment, AdminSnapshot, AdminVolume, ClusterState } from '../api/admin.ts';
import { asProblem } from '../api/problem.ts';
import type { Health } from '../api/volume.ts';
import type { Query } from './kind.ts';
import type { KindName } from './kinds/index.ts';
import type { Lister } from './listing.ts';

/** The queries that find the entries related to one entry, by their kind. */
export type RelatedQueries = Readonly<Partial<Record<KindName, Query>>>;

/** The number of entries of the audit log that are shown. */
export const maxLogEntries = 10;

/** Returns the title of the related entries of a kind. Volumes that are related to a volume are its copies. */
export function titleOf(kind: string, related: string): string {
  return kind === 'volumes' && related === 'volumes' ? 'copies' : related;
}

/** Each kind that can be described, with its related entries. */
export const relations: Readonly<Partial<Record<KindName, (entry: never) => RelatedQueries>>> = {
  volumes: ({ id, pool }: AdminVolume) => ({
    pools: { id: pool },
    attachments: { volumeId: id },
    snapshots: { volumeId: id },
    volumes: { copyOf: id },
    operations: { id: `volume/${id}` },
    'audit-log': { resource: id, limit: maxLogEntries },
  }),
  snapshots: (snapshot: AdminSnapshot) => ({
    pools: { id: snapshot.pool },
    operations: { id: operationIdOf(snapshot) },
    'audit-log': { resource: snapshot.id, limit: maxLogEntries },
  }),
  attachments: ({ volumeId }: AdminAttachment) => ({ operations: { id: `volume/${volumeId}` } }),
  nodes: ({ cluster, nodeId }: { readonly cluster: string; readonly nodeId: string }) => ({
    attachments: { cluster, nodeId },
    'audit-log': { resource: `${cluster}/${nodeId}`, limit: maxLogEntries },
  }),
  pools: () => ({}),
  clusters: ({ id }: ClusterState) => ({
    nodes: { cluster: id },
    operations: { cluster: id },
    'audit-log': { cluster: id, limit: maxLogEntries },
  }),
};

/** Finds the id of the operation under which a gateway works on a snapshot: for a member of a group, the group's. */
export function operationIdOf({ id, groupId }: AdminSnapshot): string {
  return groupId === undefined ? `snapshot/${id}` : `group/${groupId}`;
}

/** The health that the storage reports for a volume, or the reason why it is `unknown`. */
export type CurrentHealth = Pick<Health, 'entries'> | { readonly unknown: string };

/** Asks the storage for a volume's health. Never fails: an error becomes the reason why the health is unknown. */
export async function readHealth(
  { client, call }: Lister,
  { id, state }: Pick<AdminVolume, 'id' | 'state'>,
): Promise<CurrentHealth> {
  if (state !== 'ready') return { unknown: `the volume is ${state}` };
  try {
    return { entries: (await client.getAdminVolumeHealth({ volumeId: id }, call())).entries };
  } catch (error) {
    const { code, detail } = asProblem(error);
    return { unknown: code === 'UNIMPLEMENTED' ? 'its pool does not report health' : detail };
  }
}

export function toSentence(health: CurrentHealth): string {
  if ('unknown' in health) return `unknown: ${health.unknown}`;
  if (health.entries.length === 0) return 'no problems reported';
  return health.entries.map(({ status, message }) => `${status}: ${message}`).join('; ');
}
