import { clusterOf } from '../../src/api/ids.ts';
import { preconditionProblem } from '../../src/api/problem.ts';
import type { Reader } from '../store.ts';
import { type GrantRecord, grantTable } from '../tables/tenancy/grants.ts';
import type { Cluster } from './cluster.ts';
import { notFoundProblem } from './ownership.ts';

/**
 * What the cluster was granted of another's volume; undefined for its own. NOT_FOUND, after the same one read, for what is
 * not shared with it and for what is nowhere; an id that nobody can have costs none.
 */
export async function requireAccess(
  sql: Reader,
  cluster: Cluster,
  volumeId: string,
): Promise<GrantRecord | undefined> {
  const owner = clusterOf(volumeId);
  if (owner === cluster.name) return undefined;
  const grant = owner && (await grantTable.find(sql, { cluster: cluster.name, volumeId }));
  if (!grant) throw notFoundProblem({ kind: 'volume', id: volumeId });
  return grant;
}

/** False for another's volume that was not shared with the cluster; own ids cost no read. */
export async function hasAccess(sql: Reader, cluster: Cluster, volumeId: string): Promise<boolean> {
  const owner = clusterOf(volumeId);
  if (owner === undefined || owner === cluster.name) return owner !== undefined;
  return (await grantTable.find(sql, { cluster: cluster.name, volumeId })) !== undefined;
}

/** NOT_FOUND for what the cluster cannot see; FAILED_PRECONDITION, naming the owner, for what is only shared with it. */
export async function requireOwner(sql: Reader, cluster: Cluster, volumeId: string): Promise<void> {
  if (await requireAccess(sql, cluster, volumeId)) throw notOwnerProblem(volumeId);
}

/** Says whose the volume is to a cluster with which it is shared. */
export function notOwnerProblem(volumeId: string) {
  return preconditionProblem(
    `volume "${volumeId}" belongs to cluster "${clusterOf(volumeId)}", which shares it: that alone can change it`,
  );
}

/** FAILED_PRECONDITION when the grant does not let the cluster attach the volume so. */
export function requireGranted(
  { cluster, volumeId, access, revoking }: GrantRecord,
  readonly: boolean,
): void {
  const shared = `volume "${volumeId}" is shared with cluster "${cluster}"`;
  if (revoking) throw preconditionProblem(`${shared} no longer: that is being revoked`);
  if (access === 'read-only' && !readonly) throw preconditionProblem(`${shared} read-only`);
}
