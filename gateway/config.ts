import { parseShortName } from '../src/api/ids.ts';
import { durationMs, hostPort, localPath, longDurationMs, text } from '../src/lib/parsers.ts';
import {
  logFormatSetting,
  logLevelSetting,
  metricsListenSetting,
  onOrOff,
  otlpEndpointSetting,
  type SettingsOf,
} from '../src/lib/settings.ts';

/** The minimum lease, in milliseconds. Shorter claims would expire while their process is only slow. */
const minLeaseMs = 200;

/** A store: its kind, and the path of its SQLite file, or of the file with its connection URL. */
export type StoreSetting = { readonly kind: 'sqlite' | 'postgres'; readonly path: string };

/** All settings of the gateway's process. The configuration file has the pools and the callers. */
export const gatewaySettings = {
  config: {
    doc: 'YAML file with the pools, the clusters and the operators; it is read again when it changes',
    parse: localPath,
  },
  store: {
    doc: 'the store of all records: the path of a SQLite file, or sqlite:<path>, or postgres:<path of a file that holds the connection URL>',
    parse: storeSetting,
  },
  'adopt-pools': {
    doc: "pools, such as fast,files, that the store takes over at this start, even if they are marked as another store's or hold volumes that it does not know",
    parse: (value: string) => value.split(','),
    optional: true,
  },
  'adopt-store': {
    doc: 'use a SQLite store again after "admin migrate-store" copied it; no gateway may use the copy any more',
    ...onOrOff,
  },
  'keep-store-version': {
    doc: 'does not start with a store that an older release made, and does not upgrade it: other replicas of that release may be using it',
    ...onOrOff,
  },
  listen: {
    doc: 'host:port that the API is served on; port 0 lets the system choose',
    parse: hostPort,
    default: '127.0.0.1:7700',
  },
  audience: { doc: 'required "aud" of tokens', parse: text, default: 'fairlead' },
  'tls-cert-file': {
    doc: 'PEM file with the certificate chain, read again when it changes; without it: plain HTTP',
    parse: localPath,
    optional: true,
  },
  'tls-key-file': {
    doc: "PEM file with the certificate's key, read again when it changes",
    parse: localPath,
    optional: true,
  },
  'tls-client-ca-file': {
    doc: 'PEM file with certificates of authorities, read again when it changes; every client must have a certificate by one of them, beside its token',
    parse: localPath,
    optional: true,
  },
  'gateway-name': {
    doc: 'name of this gateway at the storage behind pools over REST, in tokens and in ids there, unique among the gateways of that storage. Never change it while these pools hold volumes. Without it: "gateway-" and the first 8 characters of the store\'s id',
    parse: parseShortName,
    optional: true,
  },
  'key-file': {
    doc: 'JWKS file with private keys; the first one signs attachments, and tokens for the storage behind pools over REST; made when it is missing; use the same file for all gateways on one store; default: the path of `store` and .keys.json, such as gateway.db.keys.json',
    parse: localPath,
    optional: true,
  },
  'metrics-listen': metricsListenSetting,
  'keep-deleted': {
    doc: 'time for which a deleted volume can be restored, unless its room is needed; only time in which a gateway runs counts; 0s: not at all',
    parse: durationMs,
    default: '0s',
  },
  'keep-audit-log': {
    doc: 'time for which the audit log is kept, such as 12h or 90d; only time in which a gateway runs counts',
    parse: longDurationMs,
    default: '90d',
  },
  'check-every': {
    doc: 'interval of the checks of storage against store, whose findings `fairlead status` and the metrics show; 0s: only on demand',
    parse: longDurationMs,
    default: '1h',
  },
  'public-docs': {
    doc: 'serves /openapi.json and /docs without a token; all else needs one',
    ...onOrOff,
  },
  console: {
    doc: 'serves the console at /console, for operators with a browser (`fairlead console`)',
    ...onOrOff,
  },
  'claim-lease': {
    doc: "time before other replicas take over a dead gateway's work; use the same value on all replicas",
    parse: lease,
    default: '15s',
  },
  'shutdown-grace': {
    doc: "time that requests and operations have to end after SIGTERM; the pod's terminationGracePeriodSeconds must be longer",
    parse: durationMs,
    default: '3s',
  },
  'otlp-endpoint': otlpEndpointSetting,
  check: {
    doc: 'reports the faults of the settings and the configuration, and what this machine lacks for each pool; starts and changes nothing',
    ...onOrOff,
  },
  'log-format': logFormatSetting,
  'log-level': logLevelSetting,
} as const;

export type GatewayConfig = SettingsOf<typeof gatewaySettings>;

function lease(value: string): number {
  const ms = durationMs(value);
  if (ms < minLeaseMs) throw new Error(`"${value}" is shorter than the minimum of ${minLeaseMs}ms`);
  return ms;
}

/** Reads the kind of the store, and the path of the SQLite file or of the file with the connection URL. */
export function storeSetting(value: string): StoreSetting {
  const [, kind = 'sqlite', rest = value] = /^([a-z][a-z0-9+]*):(.*)$/.exec(value) ?? [];
  if (kind === 'sqlite') return { kind, path: localPath(rest) };
  if (kind !== 'postgres') throw new Error(`"${kind}" is not a known kind of store; use sqlite or postgres`);
  if (rest.startsWith('//'))
    throw new Error(
      'after "postgres:" give the path of a file that holds the connection URL, not the URL itself',
    );
  return { kind, path: localPath(rest) };
}
