import { clusterOf } from '../../src/api/ids.ts';
import { invalidProblem, preconditionProblem } from '../../src/api/problem.ts';
import type { Reader } from '../store.ts';
import type { Resource } from '../tables/claims.ts';
import { copyGrantTable } from '../tables/copy-grants.ts';
import { type GrantRecord, grantTable } from '../tables/grants.ts';
import type { Cluster, EnrolledClusters } from './cluster.ts';
import { notFoundProblem } from './ownership.ts';

/** Returns true when the grantee accepts the grant: an operator made it, or the grantee's entry names the owner. */
export function isAccepted(
  id: string,
  { byOperator }: Pick<GrantRecord, 'byOperator'>,
  { sharesFrom = [] }: Pick<Cluster, 'sharesFrom'>,
): boolean {
  return byOperator || sharesFrom.includes(clusterOf(id) ?? '');
}

/** Finds the cluster's present entry; undefined when the configuration does not name the cluster. */
export function findEntry(
  clusters: EnrolledClusters,
  name: string,
): ReturnType<EnrolledClusters>[string] | undefined {
  const all = clusters();
  return Object.hasOwn(all, name) ? all[name] : undefined;
}

/**
 * Finds the cluster's accepted grant of another cluster's volume; undefined for the cluster's
 * own volume. NOT_FOUND both for a volume that is not shared with the cluster and for one that does not
 * exist, after the same single read, so that no answer tells them apart. A malformed id costs no read.
 */
export async function requireAccess(
  sql: Reader,
  cluster: Cluster,
  volumeId: string,
): Promise<GrantRecord | undefined> {
  const owner = clusterOf(volumeId);
  if (owner === cluster.name) return undefined;
  const grant = owner && (await grantTable.find(sql, { cluster: cluster.name, volumeId }));
  if (!grant || !isAccepted(volumeId, grant, cluster))
    throw notFoundProblem({ kind: 'volume', id: volumeId });
  return grant;
}

/** Returns false for another cluster's volume that this cluster cannot see. Its own ids cost no read. */
export async function hasAccess(sql: Reader, cluster: Cluster, volumeId: string): Promise<boolean> {
  const owner = clusterOf(volumeId);
  if (owner === undefined || owner === cluster.name) return owner !== undefined;
  const grant = await grantTable.find(sql, { cluster: cluster.name, volumeId });
  return grant !== undefined && isAccepted(volumeId, grant, cluster);
}

/** Returns true when the cluster was granted copies of another cluster's volume or snapshot, and has accepted that. */
export async function hasCopyGrant(sql: Reader, cluster: Cluster, { kind, id }: Resource): Promise<boolean> {
  if (clusterOf(id) === undefined) return false;
  const grant = await copyGrantTable.find(sql, { cluster: cluster.name, kind, id });
  return grant !== undefined && isAccepted(id, grant, cluster);
}

/**
 * Throws unless the source is the cluster's own, or its copies were granted: FAILED_PRECONDITION for a volume that is
 * only shared for attachments, and else NOT_FOUND. Its own sources cost no read.
 */
export async function requireCopyable(sql: Reader, cluster: Cluster, source: Resource): Promise<void> {
  if (clusterOf(source.id) === cluster.name || (await hasCopyGrant(sql, cluster, source))) return;
  if (source.kind === 'volume') await requireOwner(sql, cluster, source.id);
  throw notFoundProblem(source);
}

/** Finds the entry of the cluster that gets a grant. INVALID_ARGUMENT when the configuration does not name it. */
export function requireGrantee(
  clusters: EnrolledClusters,
  name: string,
): NonNullable<ReturnType<typeof findEntry>> {
  const entry = findEntry(clusters, name);
  if (entry) return entry;
  throw invalidProblem(`there is no cluster "${name}" in the configuration of the gateway`);
}

/**
 * Throws NOT_FOUND for a volume that the cluster cannot see, and FAILED_PRECONDITION, which names the owner,
 * for one that is only shared with it.
 */
export async function requireOwner(sql: Reader, cluster: Cluster, volumeId: string): Promise<void> {
  if (await requireAccess(sql, cluster, volumeId)) throw notOwnerProblem({ kind: 'volume', id: volumeId });
}

/** Names the owner to a cluster that the volume or snapshot is shared with. */
export function notOwnerProblem({ kind, id }: Resource) {
  return preconditionProblem(
    `${kind} "${id}" belongs to cluster "${clusterOf(id)}", which shares it; only the owner can change it`,
  );
}

/** Throws FAILED_PRECONDITION when the grant is being revoked, or is read-only and `readonly` is false. */
export function requireGranted(
  { cluster, volumeId, access, revoking }: GrantRecord,
  readonly: boolean,
): void {
  const shared = `volume "${volumeId}" is shared with cluster "${cluster}"`;
  if (revoking) throw preconditionProblem(`${shared} no longer: its grant is being revoked`);
  if (access === 'read-only' && !readonly)
    throw preconditionProblem(`${shared} read-only; attach it read-only`);
}
