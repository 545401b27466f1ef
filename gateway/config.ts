import { resolve } from 'node:path';
import { isClusterName } from '../src/api/ids.ts';
import { choice, durationMs, hostPort, longDurationMs, text } from '../src/lib/parsers.ts';
import { logLevelSetting, otlpEndpointSetting, type SettingsOf } from '../src/lib/settings.ts';

/** Shorter claims end while their process is only slow, in milliseconds. */
const leastLeaseMs = 200;

/** A store: its kind, and the path of its SQLite file, or of the file that holds its connection URL. */
export type StoreSetting = { readonly kind: 'sqlite' | 'postgres'; readonly path: string };

/** All settings of the gateway's process; what it serves is in the configuration file. */
export const gatewaySettings = {
  config: {
    doc: 'YAML file with the pools, the clusters and the operators; it is read again when it changes',
    parse: path,
  },
  store: {
    doc: 'where everything is remembered: the path of a SQLite file, or sqlite:<path>, or postgres:<path of a file that holds the connection URL>',
    parse: storeSetting,
  },
  'adopt-pools': {
    doc: "pools, such as fast,files, that become the store's own at this start, though they are marked as another's or hold what it does not know",
    parse: (value: string) => value.split(','),
    optional: true,
  },
  'adopt-store': {
    doc: 'true takes up a SQLite file at this start that "admin migrate-store" has copied to another store, which no gateway may use any more',
    parse: choice('true', 'false'),
    default: 'false',
  },
  listen: {
    doc: 'host:port that the API is served on; port 0 lets the system choose',
    parse: hostPort,
    default: '127.0.0.1:7700',
  },
  audience: { doc: 'what a token must have as its "aud"', parse: text, default: 'fairlead' },
  'tls-cert-file': {
    doc: 'PEM file with the certificate chain, read again when it changes; without it plain HTTP is served',
    parse: text,
    optional: true,
  },
  'tls-key-file': {
    doc: "PEM file with the certificate's key, read again as well",
    parse: text,
    optional: true,
  },
  'tls-client-ca-file': {
    doc: 'PEM file with certificates of authorities, read again as well: every client must have a certificate by one of them, beside its token',
    parse: text,
    optional: true,
  },
  'gateway-name': {
    doc: 'name of this gateway at the storage behind pools over REST, in tokens and in ids there, unique among the gateways of that storage. Never change it while these pools hold volumes. Without it: "gateway-" and the first 8 characters of the store\'s id',
    parse: gatewayName,
    optional: true,
  },
  'key-file': {
    doc: 'JWKS file with the private keys that sign attachments, and tokens for the storage behind pools over REST, the first of them; made when it is missing; the same for all gateways on one store; without it: the path of `store` with .keys.json',
    parse: path,
    optional: true,
  },
  'metrics-listen': {
    doc: 'host:port to serve /healthz, /readyz and /metrics on, over HTTP and to anybody; without it none is served',
    parse: hostPort,
    optional: true,
  },
  'keep-deleted': {
    doc: 'how long a deleted volume keeps its data and what it reserves, so that it can be restored, while a gateway runs; 0s: not at all',
    parse: durationMs,
    default: '0s',
  },
  'keep-audit': {
    doc: 'how long the log of who changed what is kept, such as 12h or 90d, while a gateway runs',
    parse: longDurationMs,
    default: '90d',
  },
  'public-docs': {
    doc: 'true serves /openapi.json and /docs, and nothing else, without a token',
    parse: choice('true', 'false'),
    default: 'false',
  },
  'claim-lease': {
    doc: 'how long after a gateway has died others leave alone what it worked on; the same for all on one store',
    parse: lease,
    default: '15s',
  },
  'otlp-endpoint': otlpEndpointSetting,
  check: {
    doc: 'says what is wrong with the settings and the configuration, and what this machine lacks for each pool; starts and changes nothing',
    parse: choice('true', 'false'),
    default: 'false',
    isSwitch: true,
  },
  'log-level': logLevelSetting,
} as const;

/** The gateway's settings, read and checked. */
export type GatewayConfig = SettingsOf<typeof gatewaySettings>;

function path(value: string): string {
  return resolve(text(value));
}

function gatewayName(value: string): string {
  if (isClusterName(value)) return value;
  throw new Error(`"${value}" is not a name of at most 32 lower-case letters, digits and inner dashes`);
}

function lease(value: string): number {
  const ms = durationMs(value);
  if (ms < leastLeaseMs) throw new Error(`"${value}" is shorter than ${leastLeaseMs}ms`);
  return ms;
}

/** Reads which kind of store it is, and the path of the SQLite file or of the file that holds the connection URL. */
export function storeSetting(value: string): StoreSetting {
  const [, kind = 'sqlite', rest = value] = /^([a-z][a-z0-9+]*):(.*)$/.exec(value) ?? [];
  if (kind === 'sqlite') return { kind, path: path(rest) };
  if (kind !== 'postgres')
    throw new Error(`"${kind}" is not a kind of store that is known: there are sqlite and postgres`);
  if (rest.startsWith('//'))
    throw new Error('postgres: is followed by the path of a file that holds the connection URL');
  return { kind, path: path(rest) };
}
