import { resolve } from 'node:path';
import { logLevels } from '../src/lib/log.ts';
import { choice, hostPort, text } from '../src/lib/parsers.ts';
import {
  readSettings,
  type Setting,
  type SettingsOf,
  type SettingsSource,
  type SettingsTable,
} from '../src/lib/settings.ts';
import { backends } from './backends/index.ts';

/** The name of a backend. */
export type BackendName = keyof typeof backends;

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
  'clusters-file': {
    doc: 'JSON file with the enrolled clusters and where their public keys are',
    parse: text,
  },
  audience: { doc: 'what a token must have as its "aud"', parse: text, default: 'fairlead' },
  'tls-cert-file': {
    doc: 'PEM file with the certificate chain; without it plain HTTP is served',
    parse: text,
    optional: true,
  },
  'tls-key-file': { doc: "PEM file with the certificate's key", parse: text, optional: true },
  'log-level': { doc: 'least severe lines that are logged', parse: choice(...logLevels), default: 'info' },
} as const;

/** All settings of the gateway, for a list of them; which of a backend's are required, only its choice tells. */
export const gatewaySettings: SettingsTable = {
  ...ownSettings,
  ...Object.fromEntries(
    Object.entries(backends).flatMap(([name, { settings }]) => listSettings(name, settings)),
  ),
};

/** What the gateway runs with. `backend.values` are the chosen backend's own settings, read by its own table. */
export type GatewayConfig = {
  readonly listen: { readonly host: string; readonly port: number };
  readonly store: StoreLocation;
  readonly backend: { readonly name: BackendName; readonly values: Readonly<Record<string, unknown>> };
  readonly clustersFile: string;
  readonly audience: string;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly logLevel: (typeof logLevels)[number];
};

/** The config, or every fault of the settings together. */
export function readGatewayConfig(
  source: SettingsSource,
):
  | { readonly config: GatewayConfig; readonly faults?: never }
  | { readonly config?: never; readonly faults: readonly string[] } {
  const { values, faults = [] } = readSettings(tableFor(findBackend(source)), source);
  if (!values) return { faults };
  const own = values as SettingsOf<typeof ownSettings>;
  const [certFile, keyFile] = [own['tls-cert-file'], own['tls-key-file']];
  if ((certFile === undefined) !== (keyFile === undefined))
    return { faults: ['--tls-cert-file and --tls-key-file must both be given, or none'] };
  return {
    config: {
      listen: own.listen,
      store: own.store,
      backend: { name: own.backend, values },
      clustersFile: resolve(own['clusters-file']),
      audience: own.audience,
      tls: certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined,
      logLevel: own['log-level'],
    },
  };
}

/** Which backend is chosen has to be known before the table is complete: this reads it and leaves faults for later. */
function findBackend(source: SettingsSource): BackendName | undefined {
  let found: BackendName | undefined;
  const parse = (value: string): BackendName => (found = ownSettings.backend.parse(value));
  readSettings({ ...gatewaySettings, backend: { ...ownSettings.backend, parse } }, source);
  return found;
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

/** The table with the chosen backend's settings as they are, while the others' must not be given. */
function tableFor(chosen: BackendName | undefined): SettingsTable {
  if (chosen === undefined) return gatewaySettings;
  const others = Object.entries(backends).filter(([name]) => name !== chosen);
  const refused = others.flatMap(([name, { settings }]) =>
    Object.entries(settings as SettingsTable).map(([flag, { doc, secret }]) => {
      const setting: Setting<unknown> = {
        doc,
        optional: true,
        ...(secret && { secret }),
        parse: () => {
          throw new Error(`is of the backend ${name}, which is not the one that is chosen`);
        },
      };
      return [flag, setting] as const;
    }),
  );
  return { ...ownSettings, ...backends[chosen].settings, ...Object.fromEntries(refused) };
}

function storeLocation(value: string): StoreLocation {
  const [, scheme, rest = value] = /^([a-z][a-z0-9+]*):(.*)$/.exec(value) ?? [];
  if (scheme !== undefined && scheme !== 'sqlite')
    throw new Error(`"${scheme}" is not a kind of store that is known: there is sqlite`);
  return { engine: 'sqlite', path: resolve(text(rest)) };
}
