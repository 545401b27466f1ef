import * as z from 'zod';
import { protocols } from '../../src/api/attachment.ts';
import { defaultDriverName, type CapabilityName } from '../../src/csi/identity.ts';
import { isShortName } from '../../src/api/ids.ts';
import { logLevels } from '../../src/lib/log.ts';
import { classValues } from './classes.ts';
import { gateway } from './gateway.ts';
import {
  asIs,
  containerValues,
  count,
  disruptionBudget,
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

/** A name with the form of a cluster's; the gateway decides whether the cluster exists. */
const clusterName = z.string().refine(name => name === '' || isShortName(name));

const common = {
  nameOverride: text('name of the chart in labels and names'),
  fullnameOverride: text('prefix of all names; empty: release and chart'),
  commonLabels: named('labels of every object'),
  commonAnnotations: named('annotations of every object'),
  image: image('fairlead', ''),
  imagePullSecrets: listAsIs('pull secrets of all pods, as `name: …`'),
  logLevel: z.enum(logLevels).default('info').describe('min level of log messages of all programs'),
  extraCaCerts: text(
    "more CA certificates (PEM) that the controller trusts, such as the one that signs the gateway's certificate",
  ),
};

const driver = group('the CSI driver, as Kubernetes, the controller and the agent know it', {
  name: text('name of the driver in classes and volumes', defaultDriverName),
  capabilities: z
    .array(z.enum(['group-snapshots'] satisfies CapabilityName[]))
    .default([])
    .describe(
      "optional capabilities to advertise: group-snapshots, if this cluster's pools support them; `topology` and `sidecars.snapshotMetadata` add their own",
    ),
  fsGroupPolicy: z
    .enum(['File', 'ReadWriteOnceWithFSType', 'None'])
    .default('File')
    .describe("policy for applying a pod's fsGroup to a volume"),
  seLinuxMount: flag("mount volumes with the pod's SELinux label", false),
  storageCapacity: flag(
    "tell the scheduler the pools' free space; requires `topology.enabled`, without which the provisioner cannot report it",
    true,
  ),
  allocatableUpdateSeconds: count(
    "interval at which Kubernetes asks again for a node's volume limit, in seconds; 0: ask only once",
    60,
  ),
});

const topology = group('topology of the nodes; the topology of the pools must match it', {
  enabled: flag("report the nodes' topology, and create volumes where their pods can run", false),
  labels: named(
    'topology keys, each with the node label that gives its value, such as zone: topology.kubernetes.io/zone (Kubernetes 1.35 or later)',
  ),
  segments: named('topology keys with the same value on all nodes of this release'),
  file: text('file on each node with lines such as zone=a, in place of `labels` and `segments`'),
  strict: flag("create a volume only in the topology of its pod's node", false),
  snapshots: flag('give snapshots a topology, too (alpha)', false),
});

const cluster = group("the cluster's identity at the gateway; `fairlead enroll` writes these values", {
  name: clusterName.default('').describe('name of the cluster at the gateway'),
  existingSecret: text("Secret with the cluster's private key", 'fairlead-key'),
  secretKey: text('key of the Secret that holds the private key', 'key.jwk.json'),
  issuer: text("issuer of the tokens; empty: the cluster's name"),
  tokenLifetime: duration('lifetime of a token', '5m'),
  serviceAccountToken: group("tokens of the controller's service account in place of a private key", {
    enabled: flag(
      'use tokens from Kubernetes, with `gateway.audience` as their audience; no Secret is needed then',
      false,
    ),
    lifetimeSeconds: z
      .int()
      .min(600)
      .max(86_400)
      .default(3_600)
      .describe('lifetime of a token in seconds; kubelet renews it in time'),
  }),
});

const controller = group('the controller with the CSI sidecars', {
  enabled: flag('run the controller in this cluster', true),
  replicas: count('number of replicas; one is active', 2),
  ...podValues({
    memory: '64Mi',
    priorityClassName: 'system-cluster-critical',
    podSecurityContext: nonRoot,
    securityContext: unprivileged,
    tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
    graceSeconds: 30,
  }),
  port: count('port of /healthz and /metrics', 8084),
  annotations: named('annotations of the Deployment'),
  topologySpreadConstraints: listAsIs('spread of the replicas; empty: over different nodes, if possible'),
  updateStrategy: asIs('update strategy of the Deployment'),
  serviceAccount,
  podDisruptionBudget: disruptionBudget('controller'),
  remoteAccess: flag(
    'create an account with a token for a controller that runs elsewhere (with `enabled: false`)',
    false,
  ),
});

const sidecarContainer = (name: string, tag: string) => ({
  image: image(`registry.k8s.io/sig-storage/csi-${name}`, tag),
  logLevel: count('log verbosity of the sidecar', 2),
  ...containerValues(unprivileged, '32Mi'),
});

const sidecar = (name: string, tag: string, workers: number) => ({
  workers: count('max concurrent calls to the driver', workers),
  ...sidecarContainer(name, tag),
});

const sidecars = group('the sidecars of the controller', {
  timeout: duration('time limit for a call to the driver', '60s'),
  retryIntervalMax: duration('max time before a failed call is retried', '1m'),
  kubeApiQps: count('max requests of each sidecar to the API server per second', 50),
  kubeApiBurst: count('max burst of such requests', 100),
  leaseDuration: duration('maximum time until another replica takes over', '15s'),
  provisioner: group('external-provisioner', {
    capacityQps: count(
      'max CSIStorageCapacity objects written per second; there is one for each class and topology, and a pod of a new class waits for it',
      20,
    ),
    capacityBurst: count('max burst of such writes', 50),
    ...sidecar('provisioner', 'v6.3.0', 50),
  }),
  attacher: group('external-attacher', sidecar('attacher', 'v4.13.0', 50)),
  resizer: group('external-resizer', sidecar('resizer', 'v2.3.0', 20)),
  snapshotter: group('external-snapshotter', {
    enabled: z
      .union([z.literal('auto'), z.boolean()])
      .default('auto')
      .describe(
        'run the snapshotter; auto: if the cluster has the VolumeSnapshot CRDs, and always with remoteKubeconfig',
      ),
    ...sidecar('snapshotter', 'v8.7.0', 20),
  }),
  snapshotMetadata: group(
    'external-snapshot-metadata, which lists the changed blocks of snapshots for backup programs',
    {
      enabled: flag(
        'run it, create its Service and SnapshotMetadataService, and advertise changed-blocks; requires the CRD of SnapshotMetadataServices',
        false,
      ),
      tlsSecret: text(
        'Secret with its certificate (tls.crt, tls.key), for the DNS name of its Service',
        'fairlead-snapshot-metadata',
      ),
      caCert: text(
        'CA certificates (PEM) for the certificate in `tlsSecret`; backup programs find them in the SnapshotMetadataService',
      ),
      audience: text("audience of the tokens of backup programs; empty: the driver's name"),
      ...sidecarContainer('snapshot-metadata', 'v1.1.0'),
    },
  ),
});

const node = group('the agent on every node', {
  enabled: flag('run the agent in this cluster', true),
  kubeletPath: text('directory of kubelet', '/var/lib/kubelet'),
  statePath: text("directory on the node for the agent's records", '/var/lib/fairlead'),
  protocols: z
    .array(z.enum(protocols))
    .default([])
    .describe('attach protocols that the agent accepts; empty: all (loop and bind only below `localRoots`)'),
  localRoots: list(
    'directories on the node for volumes over loop and bind, as POOL=PATH for one pool or PATH for all pools',
  ),
  csiDrivers: list(
    'other CSI drivers whose volumes the agent accepts, for pools over `fairlead bridge`, as NAME=SOCKET of their node plugins, with sockets below `kubeletPath`',
  ),
  gatewayKeys: asIs(
    'public keys of the gateway (the JWKS at its /.well-known/jwks.json), with which nodes verify attachments; empty: the controller fetches them and follows their changes',
  ),
  acceptUnsigned: flag(
    'accept unsigned attachments, for a gateway without --key-file or nodes without a key',
    false,
  ),
  multipathConf: text(
    'path of the settings of multipathd on every node, such as /etc/multipath.conf; empty: no such file',
  ),
  defaultFsType: z
    .enum(['ext4', 'xfs', 'btrfs'])
    .default('ext4')
    .describe('filesystem of volumes whose class names none'),
  maxVolumes: count('max volumes of a node; 0: no known limit', 0),
  commandTimeout: duration('time limit for a command such as mkfs', '60s'),
  shutdownGrace: duration(
    'time for which a terminating agent keeps serving while volumes are staged; must be less than terminationGracePeriodSeconds',
    '25s',
  ),
  lazyUnmount: flag('detach hung mounts lazily', false),
  port: count('port of /healthz, /readyz and /metrics', 9809),
  ...podValues({
    memory: '40Mi',
    priorityClassName: 'system-node-critical',
    // Overrides the image's user, which has no rights.
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
    .describe('update strategy of the DaemonSet'),
  maxUnavailable: z
    .union([z.int(), z.string()])
    .default('10%')
    .describe('max nodes whose agent is replaced at a time'),
  serviceAccount,
});

const remoteKubeconfig = group(
  'access to the served cluster, if the controller runs in another one; this release then installs only the controller',
  {
    secretName: text('Secret with a kubeconfig of the served cluster'),
    secretKey: text('key of the Secret that holds the kubeconfig', 'kubeconfig'),
    namespace: text("namespace of the agent's release in the served cluster", 'fairlead'),
  },
);

const metrics = group('metrics for Prometheus', {
  enabled: flag(
    'serve metrics in the cluster, with Services; without it the agents serve theirs only on their own node',
    false,
  ),
  serviceMonitor: group('ServiceMonitors for the Prometheus operator', {
    enabled: flag('create ServiceMonitors', false),
    interval: duration('interval of reading metrics', '30s'),
    labels: named('labels with which Prometheus selects them'),
  }),
  dashboards: group('dashboards for Grafana', {
    enabled: flag('create ConfigMaps with the dashboards', false),
    labels: texts.default({ grafana_dashboard: '1' }).describe('labels with which Grafana selects them'),
  }),
  rules: group('alerts for the Prometheus operator', {
    enabled: flag('create a PrometheusRule with the alerts', false),
    labels: named('labels with which Prometheus selects it'),
    runbookUrl: z
      .string()
      .regex(/^(https?:\/\/.+)?$/)
      .default('')
      .describe(
        'address of your copy of docs/runbook.md for the links of alerts, such as https://docs.example/runbook; empty: no links',
      ),
  }),
});

const networkPolicy = group('NetworkPolicies of the controller and the gateway', {
  enabled: flag('create the NetworkPolicies', false),
  metricsFrom: listAsIs(
    'pods that may read metrics, as `from` of a NetworkPolicy; empty: none. The default allows the Prometheus of the usual charts',
    [{ namespaceSelector: {}, podSelector: { matchLabels: { 'app.kubernetes.io/name': 'prometheus' } } }],
  ),
  gatewayFrom: listAsIs(
    'pods that may call the gateway, besides the controller, as `from` of a NetworkPolicy',
  ),
});

/** All values of the chart; `values.yaml`, `values.schema.json` and docs/reference/chart.md are generated from them. */
export const values = z.strictObject({
  global: z
    .looseObject({ imagePullSecrets: listAsIs('as `imagePullSecrets`') })
    .prefault({})
    .describe('values shared with other charts'),
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
