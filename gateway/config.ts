import { resolve } from 'node:path';
import { parseSegments, type Segments } from '../src/api/topology.ts';
import { logLevels } from '../src/lib/log.ts';
import { choice, durationMs, hostPort, text } from '../src/lib/parsers.ts';
import {
  readSettings,
  type Setting,
  type SettingsOf,
  type SettingsSource,
  type SettingsTable,
} from '../src/lib/settings.ts';
import type { BackendPlugin } from './backend.ts';
import { backends } from './backends/index.ts';

/** The name of a backend. */
export type BackendName = keyof typeof backends;

/** Every backend as far as its settings go. */
const plugins: Readonly<Record<BackendName, Pick<BackendPlugin<SettingsTable>, 'settings' | 'wraps'>>> =
  backends;

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
    Object.entries(plugins).flatMap(([name, { settings }]) => listSettings(name, settings)),
  ),
};

/**
 * What the gateway runs with. `backend.values` are the chosen backend's own settings, read by its own table, and those
 * of the one that it wraps.
 */
export type GatewayConfig = {
  readonly listen: { readonly host: string; readonly port: number };
  readonly store: StoreLocation;
  readonly backend: {
    readonly name: BackendName;
    readonly inner: BackendName | undefined;
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
  const chosen = findChosen(source);
  const { values, faults = [] } = readSettings({ ...tableFor(chosen), ...also }, source);
  if (!values) return { faults };
  const own = values as SettingsOf<typeof ownSettings>;
  const [certFile, keyFile] = [own['tls-cert-file'], own['tls-key-file']];
  return {
    config: {
      listen: own.listen,
      store: own.store,
      backend: { name: own.backend, inner: chosen.inner, values, place: own.topology },
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

type Chosen = { readonly name?: BackendName | undefined; readonly inner?: BackendName | undefined };

/** Only what wraps no other can be wrapped. */
const parseInner = choice(
  ...(Object.keys(plugins) as BackendName[]).filter(name => plugins[name].wraps === undefined),
);

/** Which backends are chosen has to be known before the table is complete: this leaves faults for later. */
function findChosen(source: SettingsSource): Chosen {
  const found = new Map<string, BackendName>();
  const noting = (flag: string, parse: (value: string) => BackendName): Setting<unknown> => ({
    doc: '',
    optional: true,
    parse: value => found.set(flag, parse(value)),
  });
  const wrapping = Object.values(plugins).flatMap(({ wraps }) => wraps ?? []);
  const table = {
    ...gatewaySettings,
    ...Object.fromEntries(wrapping.map(flag => [flag, noting(flag, parseInner)])),
    backend: noting('backend', ownSettings.backend.parse),
  };
  readSettings(table, source);
  const name = found.get('backend');
  const wraps = name && plugins[name].wraps;
  return { name, inner: wraps === undefined ? undefined : found.get(wraps) };
}

function listSettings(
  backend: string,
  settings: SettingsTable,
): readonly (readonly [string, Setting<unknown>])[] {
  return Object.entries(settings).map(([flag, setting]) => {
    const required = setting.default === undefined && !setting.optional;
    const doc = `backend ${backend}${required ? ', required there' : ''}: ${setting.doc}`;
    return [flag, Object.assign({}, setting, { doc, ...(required && { optional: true }) })];
  });
}

/** The table with the chosen backends' settings as they are, while the others' must not be given. */
function tableFor({ name, inner }: Chosen): SettingsTable {
  if (name === undefined) return gatewaySettings;
  const { settings, wraps } = plugins[name];
  const outer = wraps === undefined ? settings : { ...settings, [wraps]: wrapSetting(settings, wraps) };
  // Whose settings are missing or too many is clear only with the one that is wrapped.
  if (wraps !== undefined && inner === undefined) return { ...gatewaySettings, ...outer };
  const others = Object.entries(plugins).filter(([other]) => other !== name && other !== inner);
  const refused = others.flatMap(([other, plugin]) =>
    Object.entries(plugin.settings).map(([flag, setting]) => [flag, refuse(other, setting)] as const),
  );
  return {
    ...ownSettings,
    ...outer,
    ...(inner && plugins[inner].settings),
    ...Object.fromEntries(refused),
  };
}

function wrapSetting(settings: SettingsTable, flag: string): Setting<unknown> {
  return { doc: settings[flag]?.doc ?? '', parse: parseInner };
}

function refuse(backend: string, { doc, file, secret }: Setting<unknown>): Setting<unknown> {
  return {
    doc,
    optional: true,
    ...(file && { file }),
    ...(secret && { secret }),
    parse: () => {
      throw new Error(`is of the backend ${backend}, which is not the one that is chosen`);
    },
  };
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
