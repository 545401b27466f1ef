import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pauseImage } from '../build/images.ts';
import { dnsAddressOf, nodeAddressOf, podSubnetOf } from './addresses.ts';

/** The directory of a node's files, its programs, its cluster, and its number. */
export type NodePlan = {
  readonly directory: string;
  readonly bin: string;
  readonly cluster: number;
  readonly number: number;
  readonly cgroup: string;
};

/** The socket of containerd, in the node's namespace. */
export const runtimeSocket = '/run/containerd/containerd.sock';

/** Writes the settings of containerd, kubelet and the network plug-in; returns the paths of the first two. */
export function writeNodeFiles(plan: NodePlan): { readonly containerd: string; readonly kubelet: string } {
  const containerd = join(plan.directory, 'containerd.toml');
  const kubelet = join(plan.directory, 'kubelet.json');
  writeFileSync(containerd, containerdSettings(plan));
  writeFileSync(kubelet, JSON.stringify(kubeletSettings(plan), undefined, 2));
  writeNetwork(plan);
  return { containerd, kubelet };
}

function writeNetwork({ directory, number }: NodePlan): void {
  const plugins = join(directory, 'cni');
  mkdirSync(join(plugins, 'addresses'), { recursive: true });
  mkdirSync(join(directory, 'cni-networks'));
  for (const name of ['loopback', 'ptp']) {
    copyFileSync(join(import.meta.dirname, 'cni.sh'), join(plugins, name));
    chmodSync(join(plugins, name), 0o755);
  }
  writeFileSync(join(plugins, 'subnet'), podSubnetOf(number));
  const network = { cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'ptp' }] };
  writeFileSync(join(directory, 'cni-networks', 'pods.conflist'), JSON.stringify(network));
}

/**
 * The settings of containerd. Without CAP_SYS_RESOURCE it could not lower a process's OOM score, so it does not try.
 */
const containerdSettings = ({ directory, bin }: NodePlan) => `version = 2
root = "${directory}/containerd"
state = "/run/containerd"
[grpc]
  address = "${runtimeSocket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "${directory}/containerd-opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${directory}/cni"
    conf_dir = "${directory}/cni-networks"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "${bin}/runc"
      SystemdCgroup = false
`;

/** The settings of kubelet. It evicts nothing, because the machine's disk and memory serve other processes as well. */
const kubeletSettings = ({ cluster, number, cgroup }: NodePlan) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  address: nodeAddressOf(number),
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  containerRuntimeEndpoint: `unix://${runtimeSocket}`,
  cgroupDriver: 'cgroupfs',
  cgroupRoot: `/${cgroup}`,
  failCgroupV1: false,
  failSwapOn: false,
  oomScoreAdj: 0,
  // Kubelet mounts a volume once the node's status shows it as in use: by default up to ten seconds later.
  nodeStatusUpdateFrequency: '1s',
  // The longest pause before a container that ended repeatedly starts again; by default five minutes.
  crashLoopBackOff: { maxContainerRestartPeriod: '2s' },
  // Kubernetes 1.34 takes that setting only with this one.
  featureGates: { KubeletCrashLoopBackOffMax: true },
  // A little below the number of a node's pod addresses.
  maxPods: 250,
  makeIPTablesUtilChains: false,
  clusterDNS: [dnsAddressOf(cluster)],
  clusterDomain: 'cluster.local',
  volumePluginDir: '/var/lib/kubelet/volume-plugins',
  imageGCHighThresholdPercent: 100,
  evictionHard: Object.fromEntries(
    ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available'].map(name => [
      name,
      '0%',
    ]),
  ),
});
