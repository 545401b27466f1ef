import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { describeYamlError } from '../../lib/words/yaml.ts';

/**
 * The address and the credentials of an API server. `token` reads the token again for each call, because Kubernetes
 * renews it.
 */
export type Connection = {
  readonly url: URL;
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  readonly token?: (() => Promise<string>) | undefined;
};

/** The value of `--kubernetes` that selects the pod's service account. */
export const inCluster = 'in-cluster';

const accountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Reads the connection from the pod's service account, or from a kubeconfig file's current context. */
export function readConnection(source: string): Promise<Connection> {
  return source === inCluster ? readServiceAccount() : readKubeconfig(source);
}

async function readServiceAccount(): Promise<Connection> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = process.env;
  if (!host)
    throw new Error(
      'KUBERNETES_SERVICE_HOST is not set, so this is not a pod; give --kubernetes a kubeconfig file',
    );
  return {
    url: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    tls: { ca: await readFile(`${accountDirectory}/ca.crt`, 'utf8') },
    token: () => readToken(`${accountDirectory}/token`),
  };
}

type NamedEntries<K extends string, V> = readonly ({ readonly name: string } & Readonly<
  Partial<Record<K, V>>
>)[];
type Entry = Readonly<Record<string, string | undefined>>;
type Kubeconfig = {
  readonly 'current-context'?: string;
  readonly contexts?: NamedEntries<'context', Entry>;
  readonly clusters?: NamedEntries<'cluster', Entry>;
  readonly users?: NamedEntries<'user', Entry>;
};

async function readKubeconfig(path: string): Promise<Connection> {
  const config = await parseKubeconfig(path);
  const context = config.contexts?.find(({ name }) => name === config['current-context'])?.context;
  const cluster = config.clusters?.find(({ name }) => name === context?.['cluster'])?.cluster;
  const user = config.users?.find(({ name }) => name === context?.['user'])?.user ?? {};
  if (!cluster?.['server'])
    throw new Error(`"${path}" names no cluster in its current context; set current-context`);
  for (const unsupported of ['exec', 'auth-provider', 'username'])
    if (unsupported in user)
      throw new Error(
        `"${path}" has a user with "${unsupported}"; use a token, a token file or a certificate`,
      );
  const readAny = (entry: Entry, name: string): Promise<string | undefined> => {
    const data = entry[`${name}-data`];
    const file = entry[name];
    if (data !== undefined) return Promise.resolve(Buffer.from(data, 'base64').toString());
    return file === undefined ? Promise.resolve(undefined) : readFile(resolve(dirname(path), file), 'utf8');
  };
  const files = {
    ca: await readAny(cluster, 'certificate-authority'),
    cert: await readAny(user, 'client-certificate'),
    key: await readAny(user, 'client-key'),
  };
  const { token, tokenFile } = user;
  return {
    url: new URL(cluster['server']),
    tls: Object.fromEntries(Object.entries(files).filter(([, text]) => text !== undefined)),
    token:
      tokenFile === undefined
        ? token === undefined
          ? undefined
          : () => Promise.resolve(token)
        : () => readToken(resolve(dirname(path), tokenFile)),
  };
}

async function parseKubeconfig(path: string): Promise<Kubeconfig> {
  const { parse } = await import('yaml');
  const text = await readFile(path, 'utf8');
  let found: Readonly<Record<string, unknown>>;
  try {
    found = Object(parse(text, { logLevel: 'error' })) as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw new Error(`${path}${describeYamlError(Object(error))}`, { cause: error });
  }
  for (const name of ['contexts', 'clusters', 'users'])
    if (!Array.isArray(found[name] ?? []))
      throw new Error(`"${path}" is not a kubeconfig file: "${name}" is not a list`);
  return found;
}

async function readToken(path: string): Promise<string> {
  return (await readFile(path, 'utf8')).trim();
}
