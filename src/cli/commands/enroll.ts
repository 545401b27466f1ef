import { reasonOf } from '../../lib/words/failures.ts';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fetchGatewayKeys, toGatewayKeys, type GatewayKeySet } from '../../api/http/gateway-keys.ts';
import { createKey, publicHalf } from '../../api/http/jwt.ts';
import { findWeakness } from '../../api/http/weak-keys.ts';
import { parseShortName } from '../../api/ids.ts';
import { createDirectories } from '../../lib/directories.ts';
import { parseJson } from '../../lib/json.ts';
import { httpUrl, list, localPath, text } from '../../lib/parsers.ts';
import { onOrOff, type SettingsOf } from '../../lib/settings.ts';
import { stderr, stdout } from '../output/terminal.ts';

export const enrollSettings = {
  cluster: {
    doc: "the cluster's name; or the word operators, to make a key for the gateway's operators; or the word gateway, to make the gateway's own key file",
    parse: parseShortName,
  },
  gateway: {
    doc: 'address of a hosted gateway, such as https://storage.example:7700; default: a gateway in this cluster',
    parse: httpUrl,
    optional: true,
  },
  pools: {
    doc: 'the pools that the cluster may use, such as fast,files; default: all',
    parse: list(text),
    optional: true,
  },
  dir: { doc: 'directory for the files', parse: localPath, default: '.' },
  namespace: { doc: "the chart's namespace in the cluster", parse: text, default: 'fairlead' },
  secret: { doc: 'name of the Secret with the key', parse: text, default: 'fairlead-key' },
  'service-account': {
    doc: "authenticates the cluster by its controller's service account tokens, instead of a key",
    ...onOrOff,
  },
  account: { doc: "name of the controller's service account", parse: text, default: 'fairlead-controller' },
  issuer: {
    doc: "issuer of the cluster's tokens, as printed by kubectl get --raw /.well-known/openid-configuration",
    parse: text,
    default: 'https://kubernetes.default.svc.cluster.local',
  },
  'gateway-keys': {
    doc: "JWKS file with the gateway's keys (its --key-file or its /.well-known/jwks.json), with which nodes verify attachments; default: fetched from --gateway",
    parse: text,
    optional: true,
  },
  'issuer-keys': {
    doc: 'JWKS file with the keys of --issuer, beside gateway.yaml, as printed by kubectl get --raw /openid/v1/jwks; or the word discovery: the gateway fetches them from the issuer; default: NAME.issuer.jwks.json',
    parse: text,
    optional: true,
  },
} as const;

/** The command that makes a cluster and a gateway known to each other. */
export const enrollCommand = {
  settings: enrollSettings,
  operands: ['cluster'],
  run: enroll,
};

/** Writes the files, never over existing ones, and prints the entry for gateway.yaml. */
async function enroll(config: EnrollSettings): Promise<void> {
  const { cluster, dir } = config;
  const byCluster = config['service-account'] ? enrollByServiceAccount : enrollByKey;
  const { files, entry = '' } = await (words.get(cluster) ?? byCluster)(config);
  await createDirectories(dir);
  for (const [name, content] of Object.entries(files)) await writeNew(join(dir, name), content);
  stdout.write(entry);
}

/** Names that no cluster may have. */
const words: ReadonlyMap<string, (config: EnrollSettings) => Promise<Enrolment>> = new Map([
  ['operators', enrollOperators],
  ['gateway', enrollGateway],
]);

/** Makes the `--key-file` that all replicas of a gateway share. */
async function enrollGateway({ pools }: EnrollSettings): Promise<Enrolment> {
  if (pools) throw new Error('a gateway has its pools in its configuration: leave --pools out');
  const keys = [await createNamedKey('gateway')];
  return { files: { 'gateway.keys.json': `${JSON.stringify({ keys })}\n` } };
}

/** Makes the key that operators give to their commands as `--key-file`. */
async function enrollOperators({ pools }: EnrollSettings): Promise<Enrolment> {
  if (pools) throw new Error('operators have access to all pools: leave --pools out');
  const key = await createNamedKey('operators');
  return {
    files: {
      'operators.key.json': `${JSON.stringify(key)}\n`,
      'operators.jwks.json': `${JSON.stringify({ keys: [publicHalf(key)] })}\n`,
    },
    entry: `operators: ${JSON.stringify({ keys: 'operators.jwks.json' })}\n`,
  };
}

/** The contents of the files by their names, and the entry for gateway.yaml as text. */
type Enrolment = { readonly files: Readonly<Record<string, string>>; readonly entry?: string };

/** Creates a key whose id starts with the name. */
function createNamedKey(name: string) {
  return createKey(`${name}-${crypto.randomUUID().slice(0, 8)}`);
}

function clusterEntry({ cluster, pools }: EnrollSettings, identity: object): string {
  return `clusters:\n  ${cluster}: ${JSON.stringify({ ...identity, ...(pools && { pools }) })}\n`;
}

async function enrollByKey(config: EnrollSettings): Promise<Enrolment> {
  const { cluster, secret } = config;
  const key = await createNamedKey(cluster);
  const keySet = { keys: [publicHalf(key)] };
  return {
    files: {
      [`${cluster}.secret.yaml`]: secretOf(config, JSON.stringify(key)),
      [`${cluster}.jwks.json`]: `${JSON.stringify(keySet)}\n`,
      [`${cluster}.values.yaml`]: await valuesOf(config, { existingSecret: secret }, { keySet }),
    },
    entry: clusterEntry(config, { keys: `${cluster}.jwks.json` }),
  };
}

async function enrollByServiceAccount(config: EnrollSettings): Promise<Enrolment> {
  const { cluster, dir, namespace, account, issuer, gateway } = config;
  const keys = config['issuer-keys'] ?? `${cluster}.issuer.jwks.json`;
  const named = { issuer, subject: `system:serviceaccount:${namespace}:${account}` };
  const isFile = keys !== 'discovery';
  // A gateway in the cluster gets the file's content as a chart value; a hosted one reads the file beside gateway.yaml.
  const isInline = isFile && gateway === undefined;
  const fetchCommand = `kubectl get --raw /openid/v1/jwks > ${keys}`;
  const own = isInline ? { keySet: await readIssuerKeys(resolve(dir, keys), fetchCommand) } : { keys };
  if (isFile && !isInline) stderr.write(`next: ${fetchCommand}\n`);
  const values = await valuesOf(
    config,
    { serviceAccountToken: { enabled: true } },
    { serviceAccount: { ...named, ...own } },
  );
  return {
    files: { [`${cluster}.values.yaml`]: values },
    entry: clusterEntry(config, { serviceAccount: { ...named, keys } }),
  };
}

type KeySet = { readonly keys: readonly object[] };

/** Reads a JWKS file; the error for an unreadable file shows `fetchCommand`, which would create it. */
async function readKeySet(path: string, fetchCommand: string): Promise<KeySet> {
  const content = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new Error(`cannot read "${path}": ${reasonOf(error)}; to create it: ${fetchCommand}`);
  });
  const keySet = parseJson(content) as { readonly keys?: unknown } | undefined;
  if (!Array.isArray(keySet?.keys))
    throw new Error(`"${path}" is not a JWKS (JSON with a list of keys); to create it: ${fetchCommand}`);
  return { ...keySet, keys: keySet.keys };
}

/** Reads the issuer's keys, and warns about each weak one. The gateway refuses only the weak keys of the set. */
async function readIssuerKeys(path: string, fetchCommand: string): Promise<KeySet> {
  const keySet = await readKeySet(path, fetchCommand);
  for (const weakness of keySet.keys.flatMap(key => findWeakness(Object(key) as object) ?? []))
    stderr.write(`"${path}" has a key that the gateway refuses: it ${weakness}\n`);
  return keySet;
}

/** Reads the public half of each of the gateway's keys; private parts in the file are dropped. */
async function readGatewayKeys(path: string, gateway = 'https://<gateway>'): Promise<GatewayKeySet> {
  const fetchCommand = `curl ${gateway}/.well-known/jwks.json > ${path}`;
  const found = toGatewayKeys(await readKeySet(resolve(path), fetchCommand));
  if (found) return found;
  throw new Error(`"${path}" has a key that no gateway signs with; to fetch the right keys: ${fetchCommand}`);
}

/**
 * Asks the gateway for its keys. Undefined, with a warning, when it does not give any: then the controller fetches them for
 * the nodes after the release is installed.
 */
async function askForKeys(url: string): Promise<GatewayKeySet | undefined> {
  try {
    const found = await fetchGatewayKeys({ url });
    if (found) return found;
    stderr.write(
      `"${url}" has no keys, so it signs no attachments: start it with --key-file, or set node.acceptUnsigned of the chart\n`,
    );
  } catch (error) {
    stderr.write(
      `${(error as Error).message}: the controller will fetch the gateway's keys later; to pin them now, use --gateway-keys FILE\n`,
    );
  }
  return undefined;
}

/** Writes a file that must not exist yet: an existing one may hold the only copy of a key in use. */
async function writeNew(path: string, content: string): Promise<void> {
  const mode = /\.(secret\.yaml|keys?\.json)$/.test(path) ? 0o600 : 0o644;
  await writeFile(path, content, { mode, flag: 'wx', flush: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST')
      throw new Error(`"${path}" exists already: remove it, or choose another --dir`);
    throw error;
  });
  stderr.write(`wrote ${path}\n`);
}

type EnrollSettings = SettingsOf<typeof enrollSettings>;

/** Makes the Secret's manifest; JSON values are valid YAML. */
function secretOf({ secret, namespace }: EnrollSettings, key: string): string {
  return `# The cluster's private key: anyone who has it can act as this cluster. Apply it, and keep no copy.
apiVersion: v1
kind: Secret
metadata: ${JSON.stringify({ name: secret, namespace })}
stringData:
  key.jwk.json: ${JSON.stringify(key)}
`;
}

/** Finds the gateway's keys, in the file or at its address; none for a gateway in the cluster, which is not installed yet. */
async function findGatewayKeys({ gateway, 'gateway-keys': path }: EnrollSettings) {
  if (path !== undefined) return readGatewayKeys(path, gateway);
  return gateway === undefined ? undefined : askForKeys(gateway);
}

/**
 * Makes the chart's values for the cluster: `identity` authenticates it, and `entry` is its entry at a gateway in the same
 * release; for a hosted gateway the values have the gateway's address.
 */
async function valuesOf(config: EnrollSettings, identity: object, entry: object): Promise<string> {
  const { cluster, gateway, pools } = config;
  const clusters = { [cluster]: { ...entry, ...(pools && { pools }) } };
  const gatewayValues = gateway === undefined ? { enabled: true, clusters } : { url: gateway };
  const gatewayKeys = await findGatewayKeys(config);
  const node = gatewayKeys ? { gatewayKeys } : {};
  const parts = { cluster: { name: cluster, ...identity }, gateway: gatewayValues, node };
  const filled = Object.entries(parts).filter(([, values]) => Object.keys(values).length > 0);
  const lines = filled.map(([name, values]) => `${name}:\n${linesOf(values)}`).join('');
  return `# Values of the Helm chart for this cluster.\n${lines}`;
}

function linesOf(values: object): string {
  const lines = Object.entries(values).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}\n`);
  return lines.join('');
}
