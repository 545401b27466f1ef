/** A cluster that may use the gateway. Only its token says which one sent a request. */
export type Cluster = {
  readonly name: string;
  /** Volumes may be attached to nodes that the cluster has not reported. */
  readonly acceptAnyNode: boolean;
  /** The pools that it may use; undefined: all. */
  readonly pools: readonly string[] | undefined;
};

/** Who sends requests: a cluster, or an operator, who may call the admin routes and nothing else. */
export type Caller = Cluster | 'operator';
