import { z } from 'zod';
import { protocols } from '../../src/api/attachment.ts';
import { advertisable, advertisedByDefault, defaultDriverName } from '../../src/csi/identity.ts';
import { isClusterName } from '../../src/api/ids.ts';
import { logLevels } from '../../src/lib/log.ts';
import { classValues } from './classes.ts';
import { gateway } from './gateway.ts';
import {
  asIs,
  containerValues,
  count,
  duration,
  flag,
  group,
  image,
  list,
  listAsIs,
  named,
  nonRoot,
  podValues,
  serviceAccount,
  text,
  texts,
  unprivileged,
} from './pod.ts';

/** What is named like a cluster; what decides is the gateway. */
const clusterName = z.string().refine(name => name === '' || isClusterName(name));

const common = {
  nameOverride: text("the chart's name in labels and names"),
  fullnameOverride: text('what all names begin with; empty: the release and the chart'),
  commonLabels: named('labels of every object'),
  commonAnnotations: named('annotations of every object'),
  image: image('fairlead', ''),
  imagePullSecrets: listAsIs('secrets of the registry, as `name: …`, for all pods'),
  logLevel: z.enum(logLevels).default('info').describe('the least level of what the programs log'),
  extraCaCerts: text(
    'certificates (PEM) of authorities that the controller trusts as well, such as that of the gateway',
  ),
};

const driver = group('what the driver is, said alike to Kubernetes, the controller and the agent', {
  name: text('its name, by which classes and volumes know it', defaultDriverName),
  capabilities: z
    .array(z.enum(advertisable.filter(word => !word.includes('topology'))))
    .default([...advertisedByDefault])
    .describe(
      'what it advertises: what the pools of this cluster offer, of group-snapshots and changed-blocks',
    ),
  fsGroupPolicy: z
    .enum(['File', 'ReadWriteOnceWithFSType', 'None'])
    .default('File')
    .describe("how a pod's fsGroup is applied to a volume"),
  seLinuxMount: flag("whether volumes are mounted with the pod's SELinux label", false),
  storageCapacity: flag(
    'whether the scheduler knows what the pools have free, where topology is enabled: the provisioner cannot report it otherwise',
    true,
  ),
  allocatableUpdateSeconds: count(
    'how often Kubernetes 1.34 or later asks how many volumes a node takes; 0: once',
    60,
  ),
});

const topology = group('where nodes are; what the gateway has as the topology of pools', {
  enabled: flag(
    'whether nodes report where they are, and volumes are created where the pod is to run',
    false,
  ),
  labels: named(
    'keys of the topology, and the label of the node that each is taken from, such as zone: topology.kubernetes.io/zone (Kubernetes 1.35 or later)',
  ),
  segments: named('keys that are the same on all nodes of this release'),
  file: text('a file on each node with lines such as zone=a, in place of labels and segments'),
  strict: flag('whether a volume is created only where its pod is to run', false),
  snapshots: flag('whether snapshots have a topology as well (alpha)', false),
});

const cluster = group('how the controller is known to the gateway; `fairlead enroll` writes it', {
  name: clusterName.default('').describe('the name under which the cluster is enrolled'),
  existingSecret: text('the Secret with its private key', 'fairlead-key'),
  secretKey: text("the key's name in it", 'key.jwk.json'),
  issuer: text("the tokens' issuer; empty: the cluster's name"),
  tokenLifetime: duration('how long a token is good for', '5m'),
  serviceAccountToken: group("tokens of the controller's service account in place of a key", {
    enabled: flag('whether Kubernetes gives the tokens, with `gateway.audience`: no Secret is needed', false),
    lifetimeSeconds: z
      .int()
      .min(600)
      .max(86_400)
      .default(3_600)
      .describe('how long one is good for; kubelet renews it before'),
  }),
});

const controller = group('the controller with the CSI sidecars', {
  enabled: flag('whether it runs here', true),
  replicas: count('how many there are; one of them works', 2),
  ...podValues({
    memory: '64Mi',
    priorityClassName: 'system-cluster-critical',
    podSecurityContext: nonRoot,
    securityContext: unprivileged,
    tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
    graceSeconds: 30,
  }),
  port: count('the port of its /healthz and /metrics', 8084),
  annotations: named('annotations of the Deployment'),
  topologySpreadConstraints: listAsIs('how replicas are spread; empty: over nodes, as far as there are'),
  updateStrategy: asIs('how it is replaced'),
  serviceAccount,
  podDisruptionBudget: group('how many may be evicted at a time', {
    enabled: flag('whether there is a limit', true),
    maxUnavailable: z.union([z.int(), z.string()]).default(1).describe('the limit'),
  }),
  remoteAccess: flag(
    'true makes an account here, with a token, for a controller that runs elsewhere (with `enabled: false`)',
    false,
  ),
});

const sidecar = (name: string, tag: string, workers: number) => ({
  image: image(`registry.k8s.io/sig-storage/csi-${name}`, tag),
  workers: count('how many calls it makes at a time', workers),
  logLevel: count('how much it logs', 2),
  ...containerValues(unprivileged, '32Mi'),
});

const sidecars = group('the sidecars of the controller', {
  timeout: duration('how long a call of the driver may take', '60s'),
  retryIntervalMax: duration('the longest time until a failed call is made again', '1m'),
  kubeApiQps: count('how many requests a second each makes of the API server', 50),
  kubeApiBurst: count('and in a burst', 100),
  leaseDuration: duration('after which time another replica takes over', '15s'),
  provisioner: group('external-provisioner', sidecar('provisioner', 'v6.3.0', 50)),
  attacher: group('external-attacher', sidecar('attacher', 'v4.13.0', 50)),
  resizer: group('external-resizer', sidecar('resizer', 'v2.3.0', 20)),
  snapshotter: group('external-snapshotter', {
    enabled: z
      .union([z.literal('auto'), z.boolean()])
      .default('auto')
      .describe(
        'whether it runs; auto: where the cluster has the VolumeSnapshot CRDs, and with remoteKubeconfig',
      ),
    ...sidecar('snapshotter', 'v8.7.0', 20),
  }),
});

const node = group('the agent on every node', {
  enabled: flag('whether it runs here', true),
  kubeletPath: text("kubelet's directory", '/var/lib/kubelet'),
  statePath: text('the directory on the node with its records', '/var/lib/fairlead'),
  protocols: z
    .array(z.enum(protocols))
    .default([])
    .describe('the attach protocols that it takes; empty: all (loop and bind only below `localRoots`)'),
  localRoots: list('directories of the node below which volumes over loop and bind lie'),
  gatewayKeys: asIs(
    "the gateway's public keys (a JWKS, as its /.well-known/jwks.json has them): nodes then take only what it signed for them; empty: whatever says how a volume is reached",
  ),
  multipathConf: text(
    "the file with multipathd's settings on every node, such as /etc/multipath.conf; empty: there is none",
  ),
  defaultFsType: z
    .enum(['ext4', 'xfs', 'btrfs'])
    .default('ext4')
    .describe('the filesystem of volumes whose class names none'),
  maxVolumes: count('how many volumes a node takes; 0: no limit is known', 0),
  commandTimeout: duration('how long a command such as mkfs may take', '60s'),
  shutdownGrace: duration(
    'how long it serves on while volumes are staged; below terminationGracePeriodSeconds',
    '25s',
  ),
  lazyUnmount: flag('whether a hung mount may be detached lazily', false),
  port: count('the port of /healthz, /readyz and /metrics', 9809),
  ...podValues({
    memory: '40Mi',
    priorityClassName: 'system-node-critical',
    // The image's own user has no rights.
    podSecurityContext: { runAsUser: 0, runAsGroup: 0 },
    securityContext: { privileged: true, readOnlyRootFilesystem: true },
    tolerations: [{ operator: 'Exists' }],
    hostNetwork: true,
    graceSeconds: 40,
  }),
  annotations: named('annotations of the DaemonSet'),
  updateStrategy: z
    .enum(['RollingUpdate', 'OnDelete'])
    .default('RollingUpdate')
    .describe('how it is replaced'),
  maxUnavailable: z.union([z.int(), z.string()]).default('10%').describe('on how many nodes at a time'),
  serviceAccount,
});

const remoteKubeconfig = group(
  'the cluster that is served, when it is not the one in which the controller runs: then nothing but the controller is installed',
  {
    secretName: text('the Secret with a kubeconfig for it'),
    secretKey: text("the kubeconfig's name in it", 'kubeconfig'),
    namespace: text("the namespace there with the agent's release", 'fairlead'),
  },
);

const metrics = group('metrics for Prometheus', {
  enabled: flag("whether they are served beyond the node's and the pods' own addresses", false),
  serviceMonitor: group('ServiceMonitors for the Prometheus operator', {
    enabled: flag('whether there are', false),
    interval: duration('how often metrics are read', '30s'),
    labels: named('labels by which Prometheus finds them'),
  }),
  dashboards: group('dashboards for Grafana', {
    enabled: flag('whether there are, as ConfigMaps', false),
    labels: texts.default({ grafana_dashboard: '1' }).describe('labels by which Grafana finds them'),
  }),
  rules: group('alerts for the Prometheus operator', {
    enabled: flag('whether there are, as a PrometheusRule', false),
    labels: named('labels by which Prometheus finds it'),
    runbookUrl: text('where docs/runbook.md is served, to which each alert leads', 'docs/runbook.md'),
  }),
});

const networkPolicy = group('who may reach the controller and the gateway', {
  enabled: flag('whether that is limited', false),
  metricsFrom: listAsIs('who reads metrics, as `from` of a NetworkPolicy; empty: nobody'),
  gatewayFrom: listAsIs('who calls the gateway besides the controller'),
});

/** All values of the chart; `values.yaml`, `values.schema.json` and docs/reference/chart.md are generated from them. */
export const values = z.strictObject({
  global: z
    .looseObject({ imagePullSecrets: listAsIs('as `imagePullSecrets`') })
    .prefault({})
    .describe('values that several charts share'),
  ...common,
  cluster,
  gateway,
  driver,
  topology,
  ...classValues,
  controller,
  sidecars,
  node,
  remoteKubeconfig,
  metrics,
  networkPolicy,
});
