import { parseClusterName } from '../api/ids.ts';
import { advertisedSetting, driverNameSetting } from '../csi/identity.ts';
import { absolutePath, durationMs, hostPort, httpUrl, text, unixSocket } from '../lib/parsers.ts';
import { inCluster } from './kubernetes/connection.ts';
import { allowHttpSetting, logLevelSetting, otlpEndpointSetting, type SettingsOf } from '../lib/settings.ts';

/** All settings of the controller. */
export const controllerSettings = {
  endpoint: {
    doc: 'UNIX socket on which CSI is served, ending in .sock',
    parse: unixSocket,
    variable: 'CSI_ENDPOINT',
  },
  gateway: { doc: 'address of the storage API, such as https://storage.example', parse: httpUrl },
  'allow-http': allowHttpSetting,
  cluster: { doc: 'name under which this cluster is enrolled at the gateway', parse: parseClusterName },
  'key-file': {
    doc: 'file with the private key (a JWK with kid, Ed25519 or P-256) that signs tokens; read again when it changes',
    parse: absolutePath,
    optional: true,
  },
  'token-file': {
    doc: 'file with a token that another program renews, such as one that Kubernetes projects for a service account, in place of --key-file; read again all the time',
    parse: absolutePath,
    optional: true,
  },
  'tls-cert-file': {
    doc: 'PEM file with the certificate by which the gateway lets this connect, where it asks for one; read for each new connection',
    parse: absolutePath,
    optional: true,
  },
  'tls-key-file': {
    doc: "PEM file with that certificate's key",
    parse: absolutePath,
    optional: true,
  },
  issuer: {
    doc: "the issuer of tokens by --key-file; without it the cluster's name",
    parse: text,
    optional: true,
  },
  audience: {
    doc: 'the audience of tokens by --key-file, as set at the gateway',
    parse: text,
    default: 'fairlead',
  },
  'token-lifetime': {
    doc: 'how long a token is good for, at most 1h',
    parse: tokenLifetimeMs,
    default: '5m',
  },
  kubernetes: {
    doc: 'the cluster whose nodes are reported to the gateway: "in-cluster" (by the service account of the pod) or the path of a kubeconfig file; without it none are',
    parse: kubernetesSource,
    optional: true,
  },
  'drained-nodes': {
    doc: 'ConfigMap, as NAMESPACE/NAME, into which the nodes that are being drained are written; for agents with --drained-nodes-file',
    parse: configMapName,
    optional: true,
  },
  'health-listen': {
    doc: 'host:port to serve /healthz (200 while the CSI socket answers, whether or not the gateway does) and /metrics on, over HTTP and to anybody; without it none is served',
    parse: hostPort,
    optional: true,
  },
  'driver-name': driverNameSetting,
  'plugin-capabilities': advertisedSetting,
  'otlp-endpoint': otlpEndpointSetting,
  'log-level': logLevelSetting,
} as const;

/** The controller's settings, read and checked. */
export type ControllerConfig = SettingsOf<typeof controllerSettings>;

function kubernetesSource(value: string): string {
  return value === inCluster ? value : absolutePath(value);
}

function configMapName(value: string): string {
  if (!/^[a-z0-9-]{1,63}\/[a-z0-9.-]{1,253}$/.test(value))
    throw new Error(`"${value}" is not a NAMESPACE/NAME`);
  return value;
}

function tokenLifetimeMs(value: string): number {
  const lifetimeMs = durationMs(value);
  if (lifetimeMs < 10_000 || lifetimeMs > 3_600_000) throw new Error(`"${value}" is not between 10s and 1h`);
  return lifetimeMs;
}
