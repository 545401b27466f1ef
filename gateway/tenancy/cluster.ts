/** A cluster that may use the gateway. Only its token says which one sent a request. */
export type Cluster = {
  readonly name: string;
  /** Volumes may be attached to nodes that the cluster has not reported. */
  readonly acceptAnyNode: boolean;
  /** The pools that it may use; absent: all. */
  readonly pools?: readonly string[] | undefined;
};

/** Whose turn it is: a cluster's, its readers included, or that of all operators. */
export type Tenant = Cluster | 'operator';
