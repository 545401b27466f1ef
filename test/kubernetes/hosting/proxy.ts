import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { balancerAddressOf, nodeAddressOf } from '../cluster/addresses.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Node } from '../cluster/node.ts';

/** The user that kube-proxy is. */
const user = 'kube-proxy';

/**
 * The resources that it reads. It must not see the range of Services: it would drop connections to other ports of the API
 * server's address, where the site's gateway and database listen.
 */
const resources = 'nodes,services,endpointslices.discovery.k8s.io';

/**
 * Gives a cluster Services: runs kube-proxy on its nodes, and leads the address of its load balancer to the first node, whose
 * number is given.
 */
export async function startProxies(
  cluster: Cluster,
  nodes: readonly Node[],
  firstNode: number,
): Promise<void> {
  const { site, number } = cluster;
  // The API server has the address of this Service itself.
  const byOthers = 'service.kubernetes.io/service-proxy-name=none';
  await cluster.kubectl('label', '--overwrite', 'service', 'kubernetes', byOthers);
  await cluster.kubectl('create', 'clusterrole', user, '--verb=get,list,watch', `--resource=${resources}`);
  await cluster.kubectl('create', 'clusterrolebinding', user, `--clusterrole=${user}`, `--user=${user}`);
  for (const { name, namespace } of nodes) {
    const settings = join(namespace.directory, 'kube-proxy.json');
    writeFileSync(settings, JSON.stringify(settingsOf(cluster, name)));
    // kube-proxy runs `nft`, which finds its libraries beside itself.
    const environment = [`LD_LIBRARY_PATH=${site.bin}`, `PATH=${site.bin}:${process.env['PATH'] ?? ''}`];
    namespace.start('kube-proxy', [
      'env',
      ...environment,
      join(site.bin, 'kube-proxy'),
      `--config=${settings}`,
    ]);
  }
  await site.run(['ip', 'route', 'add', `${balancerAddressOf(number)}/32`, 'via', nodeAddressOf(firstNode)]);
}

const settingsOf = ({ credentials }: Cluster, name: string) => ({
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  mode: 'nftables',
  hostnameOverride: name,
  clientConnection: { kubeconfig: credentials.kubeconfigOf(user) },
  // The limits of tracked connections are the whole machine's.
  conntrack: { maxPerCore: 0, min: 0 },
});

/** Gives a Service of the type LoadBalancer its address, as the load balancers of a cloud do. */
export async function assignAddress(cluster: Cluster, ...service: readonly string[]): Promise<void> {
  const ingress = [{ ip: balancerAddressOf(cluster.number) }];
  const patch = ['--type=merge', '--patch', JSON.stringify({ status: { loadBalancer: { ingress } } })];
  await cluster.kubectl('patch', 'service', ...service, '--subresource=status', ...patch);
}
