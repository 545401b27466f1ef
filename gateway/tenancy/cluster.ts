import type { Usage } from '../tables/reservations.ts';

/** The most that a cluster may have in all, snapshots and what can be restored included; absent: no limit. */
export type Limits = { readonly [What in keyof Usage]?: number | undefined };

/** A cluster's limits, and those for single pools. */
export type Quota = Limits & { readonly pools?: Readonly<Record<string, Limits>> | undefined };

/** How many requests a cluster may send: `burst` at once, by default as many as in two seconds, and `perSecond` from then on. */
export type Rate = { readonly perSecond: number; readonly burst?: number | undefined };

/** A cluster that may use the gateway. Only its token says which one sent a request. */
export type Cluster = {
  readonly name: string;
  /** Volumes may be attached to nodes that the cluster has not reported. */
  readonly acceptAnyNode: boolean;
  /** The pools that it may use; absent: all. */
  readonly pools?: readonly string[] | undefined;
  /** What it may have; absent: as much as there is. */
  readonly quota?: Quota | undefined;
  /** Absent: as many requests as the gateway can take beside those of others. */
  readonly rate?: Rate | undefined;
};

/** Whose turn it is: a cluster's, its readers included, or that of all operators. */
export type Tenant = Cluster | 'operator';
