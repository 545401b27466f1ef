import { join } from 'node:path';
import { apiAddressOf, loopbackOf, serviceRangeOf } from './addresses.ts';
import type { Credentials } from './credentials.ts';
import type { Program } from './program.ts';
import type { Site } from './site.ts';

/** A cluster's control plane: the command lines of its programs, in the order of their start. */
export interface ControlPlane {
  readonly etcd: Program;
  readonly apiServer: Program;
  /** Starts the programs that need an answering API server. A node counts as not ready after this silence. */
  startControllers(nodeGraceSeconds: number): {
    readonly controllerManager: Program;
    readonly scheduler: Program;
  };
}

/** Starts etcd and an API server on it in the site's namespace; Kubernetes' programs are in a directory of their own. */
export async function startControlPlane(
  site: Site,
  { number: cluster, programs }: { readonly number: number; readonly programs: string },
  credentials: Credentials,
): Promise<ControlPlane> {
  const start = (name: string, args: readonly string[]) => {
    const directory = name === 'etcd' ? site.bin : programs;
    return site.namespace.start(`cluster-${cluster}-${name}`, [join(directory, name), ...args]);
  };
  const address = apiAddressOf(cluster);
  await site.run(['ip', 'address', 'add', `${address}/32`, 'dev', 'lo']);
  const data = join(site.directory, `cluster-${cluster}-etcd`);
  return {
    etcd: start('etcd', etcdArgs(cluster, data)),
    apiServer: start('kube-apiserver', apiServerArgs(cluster, credentials)),
    startControllers: nodeGraceSeconds => ({
      controllerManager: start('kube-controller-manager', [
        ...controllerManagerArgs(cluster, credentials),
        `--node-monitor-grace-period=${nodeGraceSeconds}s`,
      ]),
      scheduler: start(
        'kube-scheduler',
        controllerArgs(cluster, credentials.kubeconfigOf('system:kube-scheduler')),
      ),
    }),
  };
}

const storeOf = (cluster: number) => `http://${loopbackOf(cluster)}:2379`;

const etcdArgs = (cluster: number, data: string) => [
  `--data-dir=${data}`,
  '--unsafe-no-fsync',
  `--listen-client-urls=${storeOf(cluster)}`,
  `--advertise-client-urls=${storeOf(cluster)}`,
  `--listen-peer-urls=http://${loopbackOf(cluster)}:2380`,
];

const apiServerArgs = (cluster: number, { directory, tokens, serviceAccountKey }: Credentials) => [
  `--etcd-servers=${storeOf(cluster)}`,
  `--bind-address=${apiAddressOf(cluster)}`,
  `--advertise-address=${apiAddressOf(cluster)}`,
  '--secure-port=443',
  // No endpoint is necessary: the API server has the address of its service.
  '--endpoint-reconciler-type=none',
  `--service-cluster-ip-range=${serviceRangeOf(cluster)}`,
  `--cert-dir=${directory}`,
  `--token-auth-file=${tokens}`,
  '--authorization-mode=Node,RBAC',
  '--enable-admission-plugins=NodeRestriction',
  '--service-account-issuer=https://kubernetes.default.svc',
  `--service-account-key-file=${serviceAccountKey}`,
  `--service-account-signing-key-file=${serviceAccountKey}`,
  // The names of nodes cannot be resolved.
  '--kubelet-preferred-address-types=InternalIP',
  '--allow-privileged=true',
  '--profiling=false',
];

const controllerArgs = (cluster: number, kubeconfig: string) => [
  `--kubeconfig=${kubeconfig}`,
  `--bind-address=${loopbackOf(cluster)}`,
  '--leader-elect=false',
  '--profiling=false',
];

const controllerManagerArgs = (cluster: number, credentials: Credentials) => [
  ...controllerArgs(cluster, credentials.kubeconfigOf('system:kube-controller-manager')),
  `--service-account-private-key-file=${credentials.serviceAccountKey}`,
  `--root-ca-file=${join(credentials.directory, 'apiserver.crt')}`,
  '--use-service-account-credentials=true',
  // The time until a deleted VolumeAttachment is missed; by default up to a minute.
  '--attach-detach-reconcile-sync-period=10s',
];
