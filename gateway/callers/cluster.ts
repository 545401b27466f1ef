import type { Usage } from '../tables/reservations.ts';

/** The maximum usage of a cluster, including snapshots and volumes that can be restored; undefined: no limit. */
export type Limits = { readonly [What in keyof Usage]?: number | undefined };

/** A cluster's limits in all, and in single pools. */
export type Quota = Limits & { readonly pools?: Readonly<Record<string, Limits>> | undefined };

/** A cluster's request rate: `burst` requests at once (by default, twice `perSecond`), then `perSecond`. */
export type Rate = { readonly perSecond: number; readonly burst?: number | undefined };

/** A cluster that may use the gateway. Only its token says which cluster sent a request. */
export type Cluster = {
  readonly name: string;
  /** Allows attachments to nodes that the cluster has not reported. */
  readonly acceptAnyNode: boolean;
  /** The pools that it may use; undefined: all pools. */
  readonly pools?: readonly string[] | undefined;
  /** Undefined: no quota. */
  readonly quota?: Quota | undefined;
  /** The clusters whose volumes it accepts; undefined: it has only the grants that an operator makes. */
  readonly sharesFrom?: readonly string[] | undefined;
  /** The time in ms after which a silent node counts as dead; undefined: its nodes are never dealt with. */
  readonly deadNodes?: { readonly after: number } | undefined;
  /** Undefined: as many requests as the gateway can take beside other tenants. */
  readonly rate?: Rate | undefined;
};

/** The clusters in the present configuration, by name. */
export type EnrolledClusters = () => Readonly<
  Record<string, Pick<Cluster, 'pools' | 'quota' | 'sharesFrom' | 'deadNodes'>>
>;

/** The unit of fair scheduling: a cluster with its readers, or all operators together. */
export type Tenant = Cluster | 'operator';
