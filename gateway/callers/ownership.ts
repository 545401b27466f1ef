import { clusterOf } from '../../src/api/ids.ts';
import { invalidProblem, Problem } from '../../src/api/problem.ts';
import type { Resource } from '../tables/claims.ts';
import type { Cluster } from './cluster.ts';

/**
 * Throws NOT_FOUND for another cluster's id, as for an id that does not exist, and INVALID_ARGUMENT for a
 * malformed id.
 */
export function requireOwnNew(cluster: Cluster, resource: Resource): void {
  const { kind, id } = resource;
  if (clusterOf(id) === undefined)
    throw invalidProblem(`"${id}" is not a ${kind} id such as "${cluster.name}.name"`);
  requireOwn(cluster, resource);
}

export function requireOwn(cluster: Cluster, resource: Resource): void {
  if (clusterOf(resource.id) !== cluster.name) throw notFoundProblem(resource);
}

/** Makes the answer to an id that names nothing the caller can see. */
export function notFoundProblem({ kind, id }: Resource): Problem {
  return new Problem('NOT_FOUND', `there is no ${kind} "${id}"`);
}
