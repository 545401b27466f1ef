import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { controllerSettings } from '../controller/config.ts';
import { keySetOf, makeKey } from '../controller/key.ts';
import { makeDirectories } from '../lib/directories.ts';
import { httpUrl, list, text } from '../lib/parsers.ts';
import type { SettingsOf } from '../lib/settings.ts';

/** All settings of `fairlead enroll`. */
export const enrollSettings = {
  cluster: {
    doc: "the cluster's name, which may stand without its flag",
    parse: controllerSettings.cluster.parse,
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
} as const;

/** Makes a cluster's key pair, and what its Helm release and the gateway need of it. */
export const enrollCommand = {
  settings: enrollSettings,
  operands: ['cluster'],
  run: enroll,
};

/** Writes three files, none of which may be there, and prints the entry for gateway.yaml. */
async function enroll(config: SettingsOf<typeof enrollSettings>): Promise<void> {
  const { cluster, dir } = config;
  const key = await makeKey(`${cluster}-${crypto.randomUUID().slice(0, 8)}`);
  await makeDirectories(dir);
  const files = {
    [`${cluster}.secret.yaml`]: secretOf(config, JSON.stringify(key)),
    [`${cluster}.jwks.json`]: `${keySetOf(key)}\n`,
    [`${cluster}.values.yaml`]: valuesOf(config, keySetOf(key)),
  };
  for (const [name, content] of Object.entries(files)) await writeNew(join(dir, name), content);
  const entry = { keys: `${cluster}.jwks.json`, ...(config.pools && { pools: config.pools }) };
  process.stdout.write(`clusters:\n  ${cluster}: ${JSON.stringify(entry)}\n`);
}

/** A file that is there may be all that is left of a key in use. */
async function writeNew(path: string, content: string): Promise<void> {
  const mode = path.endsWith('.secret.yaml') ? 0o600 : 0o644;
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

function valuesOf({ cluster, gateway, secret, pools }: Enrolling, keySet: string): string {
  const name = JSON.stringify(cluster);
  const values = `# Values of the Helm chart for this cluster.
cluster:
  name: ${name}
  existingSecret: ${JSON.stringify(secret)}
gateway:
`;
  if (gateway !== undefined) return `${values}  url: ${JSON.stringify(gateway)}\n`;
  const entry = `${pools ? `      pools: ${JSON.stringify(pools)}\n` : ''}      keySet: ${keySet}\n`;
  return `${values}  enabled: true\n  clusters:\n    ${name}:\n${entry}`;
}
