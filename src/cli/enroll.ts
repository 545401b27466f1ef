import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { algorithmOf, makeKey, publicHalf, type PrivateJwk } from '../api/http/jwt.ts';
import { parseClusterName } from '../api/ids.ts';
import { makeDirectories } from '../lib/directories.ts';
import { parseJson } from '../lib/json.ts';
import { choice, httpUrl, list, text } from '../lib/parsers.ts';
import type { SettingsOf } from '../lib/settings.ts';

/** All settings of `fairlead enroll`. */
export const enrollSettings = {
  cluster: {
    doc: "the cluster's name, which may stand without its flag; or operators: a key for those who run the gateway",
    parse: parseClusterName,
  },
  gateway: {
    doc: 'address of the gateway, such as https://storage.example:7700; without it the gateway runs in the cluster',
    parse: httpUrl,
    optional: true,
  },
  pools: {
    doc: 'the pools that it may use, such as fast,files; without it all',
    parse: list(text),
    optional: true,
  },
  dir: { doc: 'where the files are written', parse: (value: string) => resolve(text(value)), default: '.' },
  namespace: { doc: 'the namespace of the chart in the cluster', parse: text, default: 'fairlead' },
  secret: { doc: 'the name of the Secret with the key', parse: text, default: 'fairlead-key' },
  'service-account': {
    doc: "the tokens of the controller's service account say who it is: no key is made",
    parse: choice('true', 'false'),
    default: 'false',
    isSwitch: true,
  },
  account: { doc: 'the name of that service account', parse: text, default: 'fairlead-controller' },
  issuer: {
    doc: "the issuer of the cluster's tokens, as kubectl get --raw /.well-known/openid-configuration has it",
    parse: text,
    default: 'https://kubernetes.default.svc.cluster.local',
  },
  'gateway-keys': {
    doc: "JWKS file with the gateway's keys: its --key-file, or what its /.well-known/jwks.json has; the nodes then take only attachments that it signed",
    parse: text,
    optional: true,
  },
  'issuer-keys': {
    doc: 'JWKS file with the keys of that issuer, beside gateway.yaml, as kubectl get --raw /openid/v1/jwks gives it; or discovery: the gateway asks the issuer; without it: NAME.issuer.jwks.json',
    parse: text,
    optional: true,
  },
} as const;

/** Makes what a cluster's Helm release and the gateway need so that they know each other. */
export const enrollCommand = {
  settings: enrollSettings,
  operands: ['cluster'],
  run: enroll,
};

/** Writes files, none of which may be there, and prints the entry for gateway.yaml. */
async function enroll(config: Enrolling): Promise<void> {
  const { cluster, dir, pools } = config;
  const isOperators = cluster === 'operators';
  const by = isOperators ? asOperators : config['service-account'] === 'true' ? byAccount : byKey;
  const { files, entry } = await by(config);
  await makeDirectories(dir);
  for (const [name, content] of Object.entries(files)) await writeNew(join(dir, name), content);
  const whole = JSON.stringify({ ...entry, ...(pools && { pools }) });
  process.stdout.write(isOperators ? `operators: ${whole}\n` : `clusters:\n  ${cluster}: ${whole}\n`);
}

/** The private key is for `--key-file` of the commands that operators give. */
async function asOperators({ pools }: Enrolling): Promise<Enrolled> {
  if (pools) throw new Error('operators are for all pools: leave --pools out');
  const key = await makeKey(`operators-${crypto.randomUUID().slice(0, 8)}`);
  return {
    files: {
      'operators.key.json': `${JSON.stringify(key)}\n`,
      'operators.jwks.json': `${JSON.stringify({ keys: [publicHalf(key)] })}\n`,
    },
    entry: { keys: 'operators.jwks.json' },
  };
}

/** The files by their names, and what the gateway has for the cluster. */
type Enrolled = { readonly files: Readonly<Record<string, string>>; readonly entry: object };

async function byKey(config: Enrolling): Promise<Enrolled> {
  const { cluster, secret } = config;
  const key = await makeKey(`${cluster}-${crypto.randomUUID().slice(0, 8)}`);
  const keySet = { keys: [publicHalf(key)] };
  return {
    files: {
      [`${cluster}.secret.yaml`]: secretOf(config, JSON.stringify(key)),
      [`${cluster}.jwks.json`]: `${JSON.stringify(keySet)}\n`,
      [`${cluster}.values.yaml`]: await valuesOf(config, { existingSecret: secret }, { keySet }),
    },
    entry: { keys: `${cluster}.jwks.json` },
  };
}

async function byAccount(config: Enrolling): Promise<Enrolled> {
  const { cluster, dir, namespace, account, issuer, gateway } = config;
  const keys = config['issuer-keys'] ?? `${cluster}.issuer.jwks.json`;
  const named = { issuer, subject: `system:serviceaccount:${namespace}:${account}` };
  const isFile = keys !== 'discovery';
  // The gateway of the release gets the file's content; a hosted one has the file beside gateway.yaml.
  const isContained = isFile && gateway === undefined;
  const how = `kubectl get --raw /openid/v1/jwks > ${keys}`;
  const own = isContained ? { keySet: await readKeySet(resolve(dir, keys), how) } : { keys };
  if (isFile && !isContained) process.stderr.write(`next: ${how}\n`);
  const values = await valuesOf(
    config,
    { serviceAccountToken: { enabled: true } },
    { serviceAccount: { ...named, ...own } },
  );
  return {
    files: { [`${cluster}.values.yaml`]: values },
    entry: { serviceAccount: { ...named, keys } },
  };
}

type KeySet = { readonly keys: readonly object[] };

async function readKeySet(path: string, how: string): Promise<KeySet> {
  const content = await readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw new Error(`"${path}" cannot be read (${code}): ${how}`);
  });
  const keySet = parseJson(content) as { readonly keys?: unknown } | undefined;
  if (!Array.isArray(keySet?.keys)) throw new Error(`"${path}" is no JWKS`);
  return { ...keySet, keys: keySet.keys };
}

/** Its public half is there. */
function isSigningKey(key: object): key is PrivateJwk {
  const { kid, x } = key as Partial<PrivateJwk>;
  return algorithmOf(key) !== undefined && typeof kid === 'string' && typeof x === 'string';
}

/** What nodes know the gateway by: the public half of each key, whatever else the file has. */
async function readGatewayKeys(path: string, gateway = 'https://<gateway>'): Promise<KeySet> {
  const { keys } = await readKeySet(resolve(path), `curl ${gateway}/.well-known/jwks.json > ${path}`);
  if (keys.length > 0 && keys.every(isSigningKey)) return { keys: keys.map(publicHalf) };
  throw new Error(`"${path}" has what is no key of a gateway`);
}

/** A file that is there may be all that is left of a key in use. */
async function writeNew(path: string, content: string): Promise<void> {
  const mode = /\.(secret\.yaml|key\.json)$/.test(path) ? 0o600 : 0o644;
  await writeFile(path, content, { mode, flag: 'wx', flush: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST')
      throw new Error(`"${path}" is there already: remove it, or choose another --dir`);
    throw error;
  });
  process.stderr.write(`wrote ${path}\n`);
}

type Enrolling = SettingsOf<typeof enrollSettings>;

/** A manifest; what is JSON is YAML as well. */
function secretOf({ secret, namespace }: Enrolling, key: string): string {
  return `# The private key: whoever has it is this cluster. Apply it, and keep no copy.
apiVersion: v1
kind: Secret
metadata: ${JSON.stringify({ name: secret, namespace })}
stringData:
  key.jwk.json: ${JSON.stringify(key)}
`;
}

/** Values for the cluster's release: how it is known, and where its gateway is, or what a gateway in it knows of it. */
async function valuesOf(config: Enrolling, known: object, entry: object): Promise<string> {
  const { cluster, gateway, pools, 'gateway-keys': keys } = config;
  const clusters = { [cluster]: { ...entry, ...(pools && { pools }) } };
  const served = gateway === undefined ? { enabled: true, clusters } : { url: gateway };
  const node = keys === undefined ? {} : { gatewayKeys: await readGatewayKeys(keys, gateway) };
  const parts = { cluster: { name: cluster, ...known }, gateway: served, node };
  const written = Object.entries(parts).filter(([, values]) => Object.keys(values).length > 0);
  const lines = written.map(([name, values]) => `${name}:\n${linesOf(values)}`).join('');
  return `# Values of the Helm chart for this cluster.\n${lines}`;
}

function linesOf(values: object): string {
  const lines = Object.entries(values).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}\n`);
  return lines.join('');
}
