import * as z from 'zod';
import { Problem } from '../../src/api/problem.ts';
import type { Operation } from '../../src/api/operations.ts';
import type { Capabilities, Feature } from '../../src/api/storage.ts';
import type { Backend } from '../backend.ts';
import type { Cluster } from '../callers/cluster.ts';
import { poolsOf } from './choice.ts';
import type { Pool, Pools } from './pools.ts';
import { mayOpenFirst } from './state/waiting.ts';

export function featuresOf(backend: Backend): Feature[] {
  const { snapshots, sources = [] } = backend;
  const present: Readonly<Record<Feature, unknown>> = {
    capacity: backend.capacity ?? backend.available,
    expand: backend.expand,
    modify: backend.modification,
    snapshots,
    restore: snapshots && sources.includes('snapshot'),
    clone: sources.includes('volume'),
    groups: snapshots?.createGroup,
    changes: snapshots && backend.changes,
    health: backend.volumeHealth,
    topology: backend.topologies,
    nodes: true,
    'node-details': backend.needsNodeDetails,
    // Operators import volumes; no cluster does.
    import: false,
  };
  return (Object.keys(present) as Feature[]).filter(feature => Boolean(present[feature]));
}

/**
 * Returns the abilities of the cluster's pools, each alone, and together at the top. UNAVAILABLE while no pool has been
 * reached, and while one is being opened for the first time: sidecars ask once, and would never use its features.
 */
export function capabilitiesOf(pools: Pools, cluster: Cluster): Omit<Capabilities, 'version'> {
  const usable = poolsOf(pools, cluster);
  const each = usable.filter(({ name }) => !pools.waiting().has(name)).map(toOffer);
  const unreached = usable.flatMap(({ name }) => pools.waiting().get(name) ?? []);
  const missing = unreached.find(mayOpenFirst) ?? (each.length === 0 ? unreached[0] : undefined);
  if (missing) throw missing.problem;
  const union = <T>(listOf: (one: (typeof each)[number]) => readonly T[]): T[] => [
    ...new Set(each.flatMap(listOf)),
  ];
  const [only, ...others] = each;
  const { name: _name, backend: _backend, ...details } = others.length === 0 ? { ...only } : {};
  return {
    ...details,
    accessModes: union(({ accessModes }) => accessModes),
    accessTypes: union(({ accessTypes }) => accessTypes),
    features: union(({ features }) => features),
    pools: each,
  };
}

/** Returns the abilities of one pool, including details that cannot be joined for several pools. */
function toOffer({ name, backend }: Pool) {
  const { topologies, areShares, cannotCutOff, sizes, parameters, snapshots, modification } = backend;
  const limits = sizes && {
    minimumVolumeBytes: sizes.minimumBytes,
    stepBytes: sizes.stepBytes,
    ...(sizes.maximumBytes !== undefined && { maximumVolumeBytes: sizes.maximumBytes }),
  };
  return {
    name,
    backend: backend.name,
    accessModes: [...backend.accessModes],
    accessTypes: [...backend.accessTypes],
    features: featuresOf(backend),
    zeroed: backend.accessTypes.includes('mount'),
    ...(topologies && { topologies: [...topologies] }),
    ...(areShares && { areShares }),
    ...(cannotCutOff && { cannotCutOff }),
    ...(limits && { limits }),
    parameters: {
      volume: toJsonSchema(parameters),
      ...(snapshots && { snapshot: toJsonSchema(snapshots.parameters) }),
      ...(modification && { mutable: toJsonSchema(modification.parameters) }),
    },
  };
}

const jsonSchemas = new WeakMap<z.ZodType, Readonly<Record<string, unknown>>>();

function toJsonSchema(schema: z.ZodType): Record<string, unknown> {
  const found = jsonSchemas.getOrInsertComputed(schema, () => {
    const { $schema: _, ...document } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
    return document;
  });
  return { ...found };
}

/** Returns the member, or throws UNIMPLEMENTED, which calls it `noun`. */
export function requireOffered<T>({ name }: Pool, member: T | undefined, noun: string): T {
  if (member === undefined) throw new Problem('UNIMPLEMENTED', `pool "${name}" has no ${noun}`);
  return member;
}

/** Features of the gateway itself: it knows nodes, and each pool says whether it has a capacity. */
const alwaysServed: ReadonlySet<string> = new Set<Feature>(['nodes', 'capacity']);

/** Finds the feature that a pool must offer for the operation; undefined if it needs none. */
export function neededFeature({ vendor, feature }: Operation): Feature | undefined {
  if (vendor === undefined || vendor === 'required' || alwaysServed.has(vendor)) return feature;
  return vendor;
}

/**
 * Throws UNIMPLEMENTED when no pool has the feature, and UNAVAILABLE while a pool that may have it has not been
 * reached. All pools count, not only the cluster's, because a cluster can list and delete its resources in any pool.
 */
export function requireAnyOffers(pools: Pools, feature: Feature): void {
  if (pools.all().some(({ backend }) => featuresOf(backend).includes(feature))) return;
  const [unreached] = pools.waiting().values();
  throw unreached?.problem ?? new Problem('UNIMPLEMENTED', `no pool offers "${feature}"`);
}
