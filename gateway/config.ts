import { resolve } from 'node:path';
import { parseSegments, type Segments } from '../src/api/topology.ts';
import { logLevels } from '../src/lib/log.ts';
import { choice, durationMs, hostPort, text } from '../src/lib/parsers.ts';
import {
  readSettings,
  type SettingsOf,
  type SettingsSource,
  type SettingsTable,
} from '../src/lib/settings.ts';
import { backends } from './backends/index.ts';

/** The name of a backend. */
export type BackendName = keyof typeof backends;

/** The flags of the backends: which member of its settings each one is. */
const backendFlags: Readonly<Record<BackendName, Readonly<Record<string, readonly string[]>>>> = {
  dir: {
    'dir-root': ['dir'],
    'dir-nfs-server': ['nfs', 'server'],
    'dir-nfs-export': ['nfs', 'path'],
    'dir-capacity': ['capacity'],
  },
  image: { 'image-dir': ['dir'], 'image-capacity': ['capacity'] },
  memory: { 'memory-capacity': ['capacity'] },
};

/** Shorter claims end while their process is only slow. */
const leastLeaseMs = 200;

/** Where the store is. */
export type StoreLocation = { readonly engine: 'sqlite'; readonly path: string };

const ownSettings = {
  listen: {
    doc: 'host:port that the API is served on; port 0 lets the system choose',
    parse: hostPort,
    default: '127.0.0.1:7700',
  },
  store: {
    doc: 'where everything is remembered: the path of a SQLite file, or sqlite:<path>',
    parse: storeLocation,
  },
  backend: {
    doc: `the storage that is driven: ${Object.keys(backends).join(', ')}`,
    parse: choice(...(Object.keys(backends) as BackendName[])),
  },
  topology: {
    doc: 'where the storage is, for one that knows no places itself: the keys and values that nodes must tell which reach it, such as csi.fairlead.dev/zone=a; without it all nodes do',
    parse: parseSegments,
    optional: true,
  },
  'clusters-file': {
    doc: 'JSON file with the enrolled clusters and where their public keys are',
    parse: text,
  },
  audience: { doc: 'what a token must have as its "aud"', parse: text, default: 'fairlead' },
  'tls-cert-file': {
    doc: 'PEM file with the certificate chain; without it plain HTTP is served',
    parse: text,
    optional: true,
    with: 'tls-key-file',
  },
  'tls-key-file': {
    doc: "PEM file with the certificate's key",
    parse: text,
    optional: true,
    with: 'tls-cert-file',
  },
  'keep-deleted': {
    doc: 'how long a deleted volume keeps its data and room, so that it can be restored; 0s: not at all',
    parse: durationMs,
    default: '0s',
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
  'log-level': { doc: 'least severe lines that are logged', parse: choice(...logLevels), default: 'info' },
} as const;

/** All settings of the gateway, for a list of them; which of a backend's are required, only its choice tells. */
export const gatewaySettings: SettingsTable = {
  ...ownSettings,
  ...Object.fromEntries(
    Object.entries(backendFlags).flatMap(([backend, flags]) =>
      Object.keys(flags).map(flag => [
        flag,
        { doc: `backend ${backend}: see docs/backends.md`, parse: text, optional: true },
      ]),
    ),
  ),
};

/**
 * What the gateway runs with. `backend.settings` are the chosen backend's own, read by its own schema; `values` are all
 * that were read.
 */
export type GatewayConfig = {
  readonly listen: { readonly host: string; readonly port: number };
  readonly store: StoreLocation;
  readonly backend: {
    readonly name: BackendName;
    readonly settings: unknown;
    readonly values: Readonly<Record<string, unknown>>;
    /** Where it is. */
    readonly place: Segments | undefined;
  };
  readonly clustersFile: string;
  readonly audience: string;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly keepDeletedMs: number;
  /** The API's description is served without a token. */
  readonly publicDocs: boolean;
  readonly claimLeaseMs: number;
  readonly logLevel: (typeof logLevels)[number];
};

/** The config, or every fault of the settings together. What is `also` known takes the place of settings of that name. */
export function readGatewayConfig(
  source: SettingsSource,
  also: SettingsTable = {},
):
  | { readonly config: GatewayConfig; readonly faults?: never }
  | { readonly config?: never; readonly faults: readonly string[] } {
  const { values, faults = [] } = readSettings({ ...gatewaySettings, ...also }, source);
  if (!values) return { faults };
  const read = readBackend(values);
  if (!read.settings) return { faults: read.faults };
  const own = values as SettingsOf<typeof ownSettings>;
  const [certFile, keyFile] = [own['tls-cert-file'], own['tls-key-file']];
  return {
    config: {
      listen: own.listen,
      store: own.store,
      backend: { name: own.backend, settings: read.settings, values, place: own.topology },
      clustersFile: resolve(own['clusters-file']),
      audience: own.audience,
      tls: certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined,
      keepDeletedMs: own['keep-deleted'],
      publicDocs: own['public-docs'] === 'true',
      claimLeaseMs: own['claim-lease'],
      logLevel: own['log-level'],
    },
  };
}

/** What the chosen backend's schema makes of its flags, or what is wrong with them. */
function readBackend(
  values: Readonly<Record<string, unknown>>,
):
  | { readonly settings: object; readonly faults?: never }
  | { readonly settings?: never; readonly faults: readonly string[] } {
  const name = values['backend'] as BackendName;
  const others = Object.entries(backendFlags).filter(([other]) => other !== name);
  const faults = others.flatMap(([other, flags]) =>
    Object.keys(flags)
      .filter(flag => values[flag] !== undefined)
      .map(flag => `--${flag}: is of the backend ${other}, which is not the one that is chosen`),
  );
  const given: Record<string, unknown> = {};
  for (const [flag, [outer = '', inner]] of Object.entries(backendFlags[name])) {
    const value = values[flag];
    if (value === undefined) continue;
    given[outer] = inner === undefined ? value : { ...(given[outer] as object), [inner]: value };
  }
  const { data: settings, error } = backends[name].settings.safeParse(given);
  const flagOf = (path: string): string =>
    Object.entries(backendFlags[name]).find(([, keys]) => path === keys.join('.'))?.[0] ?? path;
  for (const { path, message } of error?.issues ?? []) faults.push(`--${flagOf(path.join('.'))}: ${message}`);
  return settings && faults.length === 0 ? { settings } : { faults };
}

function lease(value: string): number {
  const ms = durationMs(value);
  if (ms < leastLeaseMs) throw new Error(`"${value}" is shorter than ${leastLeaseMs}ms`);
  return ms;
}

function storeLocation(value: string): StoreLocation {
  const [, scheme, rest = value] = /^([a-z][a-z0-9+]*):(.*)$/.exec(value) ?? [];
  if (scheme !== undefined && scheme !== 'sqlite')
    throw new Error(`"${scheme}" is not a kind of store that is known: there is sqlite`);
  return { engine: 'sqlite', path: resolve(text(rest)) };
}
