import { Problem } from '../../src/api/problem.ts';
import type { Capabilities, Feature } from '../../src/api/storage.ts';
import type { Backend } from '../backend.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { poolsOf } from './choice.ts';
import type { Pool, Pools } from './pools.ts';

/** What the backend offers: a member that is there. */
export function featuresOf(backend: Backend): Feature[] {
  const { snapshots, sources = [] } = backend;
  const present: Readonly<Record<Feature, unknown>> = {
    capacity: backend.capacity,
    expand: backend.expand,
    modify: backend.modification,
    snapshots,
    restore: snapshots && sources.includes('snapshot'),
    clone: sources.includes('volume'),
    groups: snapshots?.createGroup,
    changes: snapshots && backend.changes,
    health: backend.volumeHealth,
    topology: backend.topologies,
  };
  return (Object.keys(present) as Feature[]).filter(feature => Boolean(present[feature]));
}

/** What the cluster's pools can do, each alone and, at the top, any of them. */
export function capabilitiesOf(pools: Pools, cluster: Cluster): Omit<Capabilities, 'version'> {
  const each = poolsOf(pools, cluster).map(({ name, backend }) => ({
    name,
    backend: backend.name,
    accessModes: [...backend.accessModes],
    accessTypes: [...backend.accessTypes],
    features: featuresOf(backend),
  }));
  const union = <T>(listOf: (one: (typeof each)[number]) => readonly T[]): T[] => [
    ...new Set(each.flatMap(listOf)),
  ];
  return {
    accessModes: union(({ accessModes }) => accessModes),
    accessTypes: union(({ accessTypes }) => accessTypes),
    features: union(({ features }) => features),
    pools: each,
  };
}

/** The member, or UNIMPLEMENTED that says what the pool does not offer. */
export function requireOffered<T>({ name }: Pool, member: T | undefined, what: string): T {
  if (member === undefined) throw new Problem('UNIMPLEMENTED', `pool "${name}" has no ${what}`);
  return member;
}

/**
 * UNIMPLEMENTED when no pool has the feature. What a cluster may use for something new does not matter: what it has lies
 * where it lies, and can be listed and deleted.
 */
export function requireAnyOffers(pools: Pools, feature: Feature): void {
  if (!pools.all().some(({ backend }) => featuresOf(backend).includes(feature)))
    throw new Problem('UNIMPLEMENTED', `no pool offers "${feature}"`);
}
