/**
 * The addresses of clusters, nodes and pods, which are visible only in the site's namespaces. A cluster's API server
 * has the first address of its service range, where pods look for it, so that no kube-proxy is necessary.
 */
export const serviceRangeOf = (cluster: number): string => `10.${95 + cluster}.0.0/16`;
export const apiAddressOf = (cluster: number): string => `10.${95 + cluster}.0.1`;
/** The address of a cluster's load balancer, which every node and every control plane of the site reaches. */
export const balancerAddressOf = (cluster: number): string => `10.201.${cluster}.1`;
export const dnsAddressOf = (cluster: number): string => `10.${95 + cluster}.0.10`;
/** The address of a cluster's programs that serve only one another. */
export const loopbackOf = (cluster: number): string => `127.0.0.${cluster}`;

/** The addresses of a node and of its gateway; nodes are numbered across all clusters of a site. */
export const nodeAddressOf = (node: number): string => `10.199.${node}.2`;
export const gatewayOf = (node: number): string => `10.199.${node}.1`;
/** The first three numbers of the addresses of a node's pods. */
export const podSubnetOf = (node: number): string => `10.200.${node}`;
