import { parseShortName } from '../api/ids.ts';
import { advertisedSetting, driverNameSetting } from '../csi/identity.ts';
import { durationMs, httpUrl, integer, localPath, text, unixSocket } from '../lib/parsers.ts';
import { inCluster } from './kubernetes/connection.ts';
import {
  allowHttpSetting,
  logFormatSetting,
  logLevelSetting,
  metricsListenSetting,
  otlpEndpointSetting,
  type SettingsOf,
} from '../lib/settings.ts';

export const controllerSettings = {
  endpoint: {
    doc: 'path of the UNIX socket for CSI, ending in .sock',
    parse: unixSocket,
    variable: 'CSI_ENDPOINT',
  },
  gateway: { doc: 'address of the storage API, such as https://storage.example', parse: httpUrl },
  'allow-http': allowHttpSetting,
  cluster: { doc: 'name of this cluster at the gateway', parse: parseShortName },
  'key-file': {
    doc: 'file with the private key (a JWK with kid, Ed25519 or P-256) that signs tokens; read again when it changes',
    parse: localPath,
    optional: true,
  },
  'token-file': {
    doc: 'file with a token that another program renews, such as a projected service account token; replaces --key-file; read again at most once a second',
    parse: localPath,
    optional: true,
  },
  'ca-file': {
    doc: "PEM file with the certificates that sign the gateway's certificate; read for each new connection; default: the system's",
    parse: localPath,
    optional: true,
  },
  'tls-cert-file': {
    doc: 'PEM file with the client certificate for gateways that require one; read for each new connection',
    parse: localPath,
    optional: true,
  },
  'tls-key-file': {
    doc: "PEM file with that certificate's key",
    parse: localPath,
    optional: true,
  },
  issuer: {
    doc: "issuer of tokens made with --key-file; default: the cluster's name",
    parse: text,
    optional: true,
  },
  audience: {
    doc: 'audience of tokens made with --key-file, as set at the gateway',
    parse: text,
    default: 'fairlead',
  },
  'token-lifetime': {
    doc: 'lifetime of a token, between 10s and 1h',
    parse: tokenLifetimeMs,
    default: '5m',
  },
  kubernetes: {
    doc: 'cluster whose nodes are reported to the gateway: "in-cluster" (the service account of the pod) or the path of a kubeconfig file; without it no nodes are reported',
    parse: kubernetesSource,
    optional: true,
  },
  'drained-nodes': {
    doc: "ConfigMap, as NAMESPACE/NAME, that receives the ids of nodes being drained (nodes) and the gateway's public keys (jwks.json); for agents with --drained-nodes-file and --gateway-keys-file",
    parse: configMapName,
    optional: true,
  },
  'agent-port': {
    doc: "port of the agents' --metrics-listen on the addresses of their nodes; a node whose agent answers there is not dead, and one that is back needs an agent without old volumes; without it only the kubelet is asked",
    parse: integer(1, 65_535),
    optional: true,
  },
  'metrics-listen': metricsListenSetting,
  'driver-name': driverNameSetting,
  'plugin-capabilities': advertisedSetting,
  'otlp-endpoint': otlpEndpointSetting,
  'log-format': logFormatSetting,
  'log-level': logLevelSetting,
} as const;

export type ControllerConfig = SettingsOf<typeof controllerSettings>;

function kubernetesSource(value: string): string {
  return value === inCluster ? value : localPath(value);
}

function configMapName(value: string): string {
  if (!/^[a-z0-9-]{1,63}\/[a-z0-9.-]{1,253}$/.test(value))
    throw new Error(`"${value}" is not a ConfigMap; use NAMESPACE/NAME`);
  return value;
}

function tokenLifetimeMs(value: string): number {
  const lifetimeMs = durationMs(value);
  if (lifetimeMs < 10_000 || lifetimeMs > 3_600_000)
    throw new Error(`"${value}" is not a token lifetime; use 10s to 1h`);
  return lifetimeMs;
}
