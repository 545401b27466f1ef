import type { Capabilities } from './resources.ts';

/** What a storage may do beyond making, removing, attaching and detaching volumes; absent means UNIMPLEMENTED. */
export const features = [
  /** The room left is told. */
  'capacity',
  /** Volumes grow. */
  'expand',
  /** Volumes have parameters that can be changed. */
  'modify',
  /** Volumes have snapshots. */
  'snapshots',
  /** Volumes can be made from snapshots. */
  'restore',
  /** Volumes can be made from volumes. */
  'clone',
  /** Several volumes are cut at one point in time. */
  'groups',
  /** Allocated and changed blocks of snapshots are told. */
  'changes',
  /** What is wrong with a volume is told. */
  'health',
  /** Volumes and snapshots are in places, and not reached from everywhere. */
  'topology',
] as const;

/** One of `features`. */
export type Feature = (typeof features)[number];

/** True when the storage has the feature. */
export function hasFeature(capabilities: Pick<Capabilities, 'features'>, feature: Feature): boolean {
  return capabilities.features.includes(feature);
}
