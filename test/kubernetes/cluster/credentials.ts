import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiAddressOf } from './addresses.ts';

/** The users of a cluster, except service accounts. */
export interface Credentials {
  /** The directory into which the API server writes its certificate, which is self-signed. */
  readonly directory: string;
  /** The path of the file of tokens that the API server reads. */
  readonly tokens: string;
  readonly serviceAccountKey: string;
  /** Returns the path of the kubeconfig of one of the users. */
  kubeconfigOf(user: string): string;
}

/** The group of each user that has one. */
const groups: Readonly<Record<string, string>> = {
  admin: 'system:masters',
  'kube-proxy': '',
  'system:kube-controller-manager': '',
  'system:kube-scheduler': '',
};

/** Makes the users of a cluster with these nodes; a token is valid until the API server ends. */
export function makeCredentials(directory: string, cluster: number, nodes: readonly string[]): Credentials {
  mkdirSync(directory);
  const kubelets = nodes.map(name => [`system:node:${name}`, 'system:nodes']);
  const users = [...Object.entries(groups), ...kubelets].map(([user = '', group = '']) => ({
    user,
    group,
    token: randomBytes(16).toString('hex'),
  }));
  const pathOf = (user: string) => join(directory, `${user.replaceAll(':', '-')}.kubeconfig`);
  for (const { user, token } of users) {
    const kubeconfig = kubeconfigFor(user, token, { cluster, authority: join(directory, 'apiserver.crt') });
    writeFileSync(pathOf(user), JSON.stringify(kubeconfig), { mode: 0o600 });
  }
  const tokens = join(directory, 'tokens.csv');
  const lines = users.map(({ user, group, token }) => `${token},${user},${user}${group && `,${group}`}\n`);
  writeFileSync(tokens, lines.join(''), { mode: 0o600 });
  const serviceAccountKey = join(directory, 'service-account.key');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(serviceAccountKey, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  return { directory, tokens, serviceAccountKey, kubeconfigOf: pathOf };
}

type Server = { readonly cluster: number; readonly authority: string };

function kubeconfigFor(user: string, token: string, { cluster, authority }: Server) {
  const name = `cluster-${cluster}`;
  const server = `https://${apiAddressOf(cluster)}`;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority': authority } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name, context: { cluster: name, user } }],
    'current-context': name,
  };
}
