import { clusterOf } from '../../src/api/ids.ts';
import { invalidProblem, Problem } from '../../src/api/problem.ts';
import type { Resource } from '../tables/claims.ts';
import type { Cluster } from './cluster.ts';

/** NOT_FOUND for another cluster's id, as for one that is nowhere; INVALID_ARGUMENT for what can be no id. */
export function requireOwnNew(cluster: Cluster, resource: Resource): void {
  const { kind, id } = resource;
  if (clusterOf(id) === undefined)
    throw invalidProblem(`"${id}" is not a ${kind} id such as "${cluster.name}.name"`);
  requireOwn(cluster, resource);
}

/** NOT_FOUND for what is another cluster's, or can be nobody's. */
export function requireOwn(cluster: Cluster, resource: Resource): void {
  if (clusterOf(resource.id) !== cluster.name) throw notFoundProblem(resource);
}

/** What is said of an id that names nothing for the cluster that asks. */
export function notFoundProblem({ kind, id }: Resource): Problem {
  return new Problem('NOT_FOUND', `there is no ${kind} "${id}"`);
}
