import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createKey, publicHalf, type PrivateJwk } from '../../../src/api/http/jwt.ts';
import { apiAddressOf } from '../cluster/addresses.ts';
import { capture } from '../cluster/capture.ts';
import type { Program } from '../cluster/program.ts';
import type { Site } from '../cluster/site.ts';
import { waitFor } from '../cluster/wait.ts';

const checkout = resolve(import.meta.dirname, '../../..');
/** The beginning of this version's command lines. */
export const fairlead: readonly string[] = [
  join(checkout, 'node_modules/.bin/node'),
  join(checkout, 'src/fairlead.mjs'),
];

/** The gateway of a site's clusters, a process beside their control planes. */
export interface Gateway {
  /** The directory of its pools, which nodes see as well. */
  readonly pools: string;
  /** The device of the filesystem with the images, which nodes mount at the same path. */
  readonly device: string;
  /** The path of its certificate, which clients have to trust. */
  readonly certificate: string;
  /** The path of the private key of its operator. */
  readonly operatorKey: string;
  readonly url: string;
  /** Adds the issuer keys of a cluster whose name alone was known before. */
  takeIssuer(cluster: string, keySet: string): void;
  /** Replaces the public keys of a cluster. */
  takeKeys(cluster: string, keySet: Gateway['keySet']): void;
  /** The public keys that verify its signatures. */
  readonly keySet: { readonly keys: readonly object[] };
  /** Returns the path of a file that `fairlead enroll` wrote for a cluster. */
  fileOf(cluster: string, what: 'secret' | 'values'): string;
  /** Writes the private key of a cluster to a separate file, and returns its path. */
  keyFileOf(cluster: string): string;
  /** Returns the current process, or the last one if none runs. */
  process(): Program;
  /** Starts this version's gateway after its end; resolves once it serves. */
  start(): Promise<void>;
  /** Counts the rows of a table that meet a condition such as `id = ?`. */
  count(table: 'volumes' | 'snapshots' | 'attachments' | 'nodes', where?: string, value?: string): number;
  /** Lists the files and directories of a pool that are volumes or snapshots. */
  stored(pool: string): readonly string[];
  /** Runs `fairlead admin check` and returns its output. */
  check(): Promise<string>;
  /** Runs a command of an operator, such as `admin grant`, and returns its output. */
  operate(...argv: readonly string[]): Promise<string>;
  /** Detaches a volume from all nodes without telling its cluster. */
  detach(volumeId: string): Promise<void>;
}

const readiness = `fetch('http://127.0.0.1:7701/readyz').then(({ ok }) => process.exit(ok ? 0 : 1))`;

/** The pools by the setting that determines their kind: one of images and one of directories. */
const backends = { fast: 'image', files: 'dir' };

/** A gateway that differs from the usual one. */
export type GatewayPlan = {
  /** The beginning of its command line; by default this version's. */
  readonly command?: readonly string[];
  /** The backend of the pool `fast`: a file whose export `backend` is the plug-in. */
  readonly fast?: string;
  /** Further pools by name. */
  readonly pools?: Readonly<Record<string, object>>;
  /** Further settings of clusters by name. */
  readonly entries?: Readonly<Record<string, object>>;
};

/** Enrolls clusters as a user does and starts a gateway for them. */
export async function startGateway(
  site: Site,
  clusters: readonly string[],
  plan: GatewayPlan = {},
): Promise<Gateway> {
  const { command = fairlead, fast } = plan;
  const directory = join(site.directory, 'gateway');
  const pools = join(directory, 'pools');
  for (const name of Object.keys(backends)) mkdirSync(join(pools, name), { recursive: true });
  const device = await makeFilesystem(site, join(pools, 'fast'));
  // Every node reaches the address of the first cluster's API server.
  const url = `https://${apiAddressOf(1)}:7700`;
  for (const cluster of clusters)
    await capture([...fairlead, 'enroll', cluster, '--gateway', url, '--dir', directory]);
  await makeCertificate(directory, `IP:${apiAddressOf(1)}`);
  const key = await createKey('operator');
  const operatorKey = join(directory, 'operator.jwk.json');
  writeFileSync(operatorKey, JSON.stringify(key), { mode: 0o600 });
  writeFileSync(join(directory, 'operators.jwks.json'), JSON.stringify({ keys: [publicHalf(key)] }));
  const kinds = fast === undefined ? backends : { ...backends, fast: writePackage(directory, fast) };
  writeFileSync(
    join(directory, 'gateway.yaml'),
    JSON.stringify(configurationOf({ pools, kinds, clusters, plan })),
  );
  const store = join(directory, 'store.sqlite');
  const launch = (first: readonly string[]) =>
    site.namespace.start('gateway', [...first, ...gatewayArgs(directory)]);
  const operator = ['--gateway', url, '--key-file', operatorKey];
  const call = (...argv: readonly string[]) =>
    site.run(['env', `NODE_EXTRA_CA_CERTS=${certificateOf(directory)}`, ...argv]);
  const operate = (...argv: readonly string[]) => call(...fairlead, ...argv, ...operator);
  let process = launch(command);
  const isReady = () => site.run([fairlead[0] ?? '', '--eval', readiness]);
  const served = async () => void (await waitFor('the gateway', isReady));
  await served();
  return {
    pools,
    device,
    certificate: certificateOf(directory),
    operatorKey,
    url,
    keySet: keySetOf(`${store}.keys.json`),
    takeIssuer: (cluster, keySet) => writeFileSync(join(directory, issuerKeysOf(cluster)), keySet),
    takeKeys: (cluster, keySet) =>
      writeFileSync(join(directory, `${cluster}.jwks.json`), JSON.stringify(keySet)),
    fileOf: (cluster, what) => join(directory, `${cluster}.${what}.yaml`),
    keyFileOf: cluster => writeKey(directory, cluster),
    process: () => process,
    async start() {
      process = launch(fairlead);
      await served();
    },
    count: (table, where, value) => countRows(store, `${table} where ${where ?? '1 = 1'}`, value),
    stored: pool => readdirSync(join(pools, pool)).filter(name => !name.startsWith('.')),
    check: () => operate('admin', 'check'),
    operate,
    async detach(volumeId) {
      const keyFile = writeKey(directory, volumeId.split('.')[0] ?? '');
      await call(fairlead[0] ?? '', join(import.meta.dirname, 'detach.ts'), url, keyFile, volumeId);
    },
  };
}

/** Writes the private key of a cluster to a separate file. */
function writeKey(directory: string, cluster: string): string {
  const secret = readFileSync(join(directory, `${cluster}.secret.yaml`), 'utf8');
  const key = /^ {2}key\.jwk\.json: (.*)$/m.exec(secret)?.[1] ?? '';
  const path = join(directory, `${cluster}.jwk.json`);
  writeFileSync(path, JSON.parse(key), { mode: 0o600 });
  return path;
}

/** Reads the public halves of a gateway's keys. */
export function keySetOf(path: string): Gateway['keySet'] {
  const { keys } = JSON.parse(readFileSync(path, 'utf8')) as { readonly keys: readonly PrivateJwk[] };
  return { keys: keys.map(publicHalf) };
}

const certificateOf = (directory: string) => join(directory, 'tls.crt');

/** Writes a package beside the configuration that stands for a file of this checkout, and returns the package's name. */
function writePackage(directory: string, file: string): string {
  const name = 'storage';
  const home = join(directory, 'node_modules', name);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }));
  writeFileSync(join(home, 'index.js'), `export { backend } from ${JSON.stringify(file)};`);
  return name;
}

type Configuration = {
  readonly pools: string;
  readonly kinds: Readonly<Record<string, string>>;
  readonly clusters: readonly string[];
  readonly plan: GatewayPlan;
};

const configurationOf = ({ pools, kinds, clusters, plan }: Configuration) => ({
  pools: {
    ...Object.fromEntries(
      Object.entries(kinds).map(([name, backend]) => [name, { backend, dir: join(pools, name) }]),
    ),
    ...plan.pools,
  },
  clusters: Object.fromEntries(clusters.map(name => [name, { ...entryOf(name), ...plan.entries?.[name] }])),
  operators: { keys: 'operators.jwks.json' },
});

const issuerKeysOf = (cluster: string) => `${cluster}.issuer.jwks.json`;

/** The clusters that also authenticate by service accounts; both call their issuer the same. */
const knownByAccount = new Set(['east', 'west']);

const entryOf = (cluster: string) => ({
  keys: `${cluster}.jwks.json`,
  ...(cluster === 'west' && { quota: { bytes: '6Gi' } }),
  ...(knownByAccount.has(cluster) && {
    serviceAccount: {
      issuer: 'https://kubernetes.default.svc',
      subject: 'system:serviceaccount:fairlead:fairlead-controller',
      keys: issuerKeysOf(cluster),
    },
  }),
});

const gatewayArgs = (directory: string) => [
  'gateway',
  `--config=${join(directory, 'gateway.yaml')}`,
  `--store=${join(directory, 'store.sqlite')}`,
  '--listen=0.0.0.0:7700',
  '--metrics-listen=127.0.0.1:7701',
  `--tls-cert-file=${certificateOf(directory)}`,
  `--tls-key-file=${join(directory, 'tls.key')}`,
];

/**
 * Makes a filesystem with reflinks, because snapshots and clones of volumes in use need one that copies files at one
 * instant.
 */
async function makeFilesystem(site: Site, directory: string): Promise<string> {
  const file = `${directory}.xfs`;
  await site.run(['truncate', '--size', '20G', file]);
  await site.run(['mkfs.xfs', '-q', '-m', 'reflink=1', file]);
  const device = await site.run(['losetup', '--find', '--show', file]);
  await site.run(['mount', device, directory]);
  return device;
}

/** Makes the files `tls.crt` and `tls.key`, a self-signed certificate for an alternative name of OpenSSL. */
export async function makeCertificate(directory: string, alternativeName: string): Promise<void> {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const name = ['-subj', '/CN=tests', '-addext', `subjectAltName=${alternativeName}`];
  const files = ['-keyout', join(directory, 'tls.key'), '-out', certificateOf(directory)];
  await capture(['openssl', 'req', '-x509', ...key, ...name, ...files]);
}

function countRows(store: string, what: string, value?: string): number {
  const database = new DatabaseSync(store, { readOnly: true });
  try {
    const statement = database.prepare(`select count(*) as count from ${what}`);
    return Number(statement.get(...(value === undefined ? [] : [value]))?.['count']);
  } finally {
    database.close();
  }
}
