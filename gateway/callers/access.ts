import { clusterOf } from '../../src/api/ids.ts';
import { preconditionProblem } from '../../src/api/problem.ts';
import type { Reader } from '../store.ts';
import { type GrantRecord, grantTable } from '../tables/grants.ts';
import type { Cluster, EnrolledClusters } from './cluster.ts';
import { notFoundProblem } from './ownership.ts';

/** Returns true when the grantee accepts the grant: an operator made it, or the grantee's entry names the owner. */
export function isAccepted(
  { byOperator, volumeId }: Pick<GrantRecord, 'byOperator' | 'volumeId'>,
  { sharesFrom = [] }: Pick<Cluster, 'sharesFrom'>,
): boolean {
  return byOperator || sharesFrom.includes(clusterOf(volumeId) ?? '');
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
  if (!grant || !isAccepted(grant, cluster)) throw notFoundProblem({ kind: 'volume', id: volumeId });
  return grant;
}

/** Returns false for another cluster's volume that this cluster cannot see. Its own ids cost no read. */
export async function hasAccess(sql: Reader, cluster: Cluster, volumeId: string): Promise<boolean> {
  const owner = clusterOf(volumeId);
  if (owner === undefined || owner === cluster.name) return owner !== undefined;
  const grant = await grantTable.find(sql, { cluster: cluster.name, volumeId });
  return grant !== undefined && isAccepted(grant, cluster);
}

/**
 * Throws NOT_FOUND for a volume that the cluster cannot see, and FAILED_PRECONDITION, which names the owner,
 * for one that is only shared with it.
 */
export async function requireOwner(sql: Reader, cluster: Cluster, volumeId: string): Promise<void> {
  if (await requireAccess(sql, cluster, volumeId)) throw notOwnerProblem(volumeId);
}

/** Names the owner to a cluster that the volume is shared with. */
export function notOwnerProblem(volumeId: string) {
  return preconditionProblem(
    `volume "${volumeId}" belongs to cluster "${clusterOf(volumeId)}", which shares it; only the owner can change it`,
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
