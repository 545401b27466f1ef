import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { packageChart } from '../../../deploy/release/chart.ts';
import { readGuide, toShell } from '../../../docs/guides/guide.ts';
import { balancerAddressOf } from '../cluster/addresses.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { assignAddress } from './proxy.ts';
import { waitFor } from '../cluster/wait.ts';
import { keySetOf, type Gateway } from '../installation/gateway.ts';
import { unpackPrevious } from '../installation/previous.ts';
import { writeTools } from '../scenarios/guide.ts';
import type { Database } from './database.ts';

const checkout = resolve(import.meta.dirname, '../../..');

/** The name of the replicas at their storage, and of the namespace that the guide gives them. */
export const hostedGateway = 'front';
export const hostingNamespace = 'storage';

/** A cluster for the replicas, their database, and the gateway that is their storage. */
export type Hosts = { readonly cluster: Cluster; readonly database: Database; readonly storage: Gateway };

/** The directory of the files that the guide's commands write, and a function that runs a command of its reader. */
type FollowedGuide = {
  readonly files: string;
  readonly run: (...argv: readonly string[]) => Promise<string>;
};

/**
 * Follows the guide with a database in place of CloudNativePG, a gateway with disks as the storage, and the store of a
 * gateway of the previous release.
 */
export async function followGuide(hosts: Hosts): Promise<FollowedGuide> {
  const { cluster, storage } = hosts;
  const { site } = cluster;
  const directory = join(site.directory, 'hosting');
  const files = join(directory, 'root/hosting');
  await makeOlderStore(hosts);
  writeTools(cluster, join(directory, 'bin'), byOperatorOf(hosts));
  packageChart(join(site.bin, 'helm'), join(directory, 'root'));
  const environment = [`PATH=${directory}/bin:${process.env['PATH'] ?? ''}`, `XDG_CONFIG_HOME=${directory}`];
  const run = (...argv: readonly string[]) => site.run(['env', ...environment, ...argv]);
  const accountKeys = await cluster.kubectl('get', '--raw', '/openid/v1/jwks');
  const replaced = { '/root': join(directory, 'root'), ...replacedIn(hosts, accountKeys) };
  const steps = readGuide(join(checkout, 'docs/guides/hosting.md'), replaced).map(toShell);
  const first = steps.findIndex(text => text.includes('helm install'));
  await run('bash', '-eu', '-c', steps.slice(0, first).join('\n'));
  storage.takeKeys(hostedGateway, keySetOf(join(files, 'gateway.keys.json')));
  await Promise.all([
    run('bash', '-eu', '-c', [`cd ${files}`, ...steps.slice(first)].join('\n')),
    waitFor('the Service', async () => {
      await assignAddress(cluster, 'fairlead-gateway', '--namespace', hostingNamespace);
      return true;
    }),
  ]);
  return { files, run };
}

/** The work of CloudNativePG when its cluster is applied, and when the reader waits for it. */
function byOperatorOf({ cluster: { site, credentials }, database }: Hosts): string {
  const kubectl = `${site.bin}/kubectl --kubeconfig ${credentials.kubeconfigOf('admin')}`;
  const create = `${kubectl} create secret generic --namespace ${hostingNamespace}`;
  return `case "$*" in
*database.yaml*)
  ${create} db-app --from-literal=uri=${database.url}
  exec ${create} db-ca --from-file=ca.crt=${database.certificate} ;;
*clusters.postgresql.cnpg.io*) exit 0 ;;
esac
`;
}

/** Starts a gateway of the previous release on the database, and ends it. */
async function makeOlderStore({ cluster: { site }, database }: Hosts): Promise<void> {
  const { command } = await unpackPrevious(site);
  const directory = join(site.directory, 'older');
  mkdirSync(directory);
  const configuration = { pools: { none: { backend: 'memory' } }, clusters: {} };
  writeFileSync(join(directory, 'gateway.yaml'), JSON.stringify(configuration));
  const authority = `sslmode=verify-full&sslrootcert=${database.certificate}`;
  writeFileSync(join(directory, 'url'), `${database.url}?${authority}`);
  const gateway = site.namespace.start('older-gateway', [
    ...command,
    'gateway',
    `--config=${join(directory, 'gateway.yaml')}`,
    `--store=postgres:${join(directory, 'url')}`,
    '--listen=127.0.0.1:7710',
  ]);
  const isReady = () => gateway.output().includes('"msg":"ready"') || undefined;
  await waitFor('the previous release', isReady, gateway);
  await gateway.end();
}

/** An operator with an account at an OpenID provider, which is the cluster itself. */
export const operatorAccount = {
  issuer: 'https://kubernetes.default.svc',
  audience: 'operators',
  subjects: [`system:serviceaccount:${hostingNamespace}:default`],
};

/** The texts of the guide that differ here: addresses, the pool, and a further operator. */
function replacedIn({ cluster, storage }: Hosts, accountKeys: string): Readonly<Record<string, string>> {
  const address = balancerAddressOf(cluster.number);
  const attachments = { protocols: ['loop'], roots: [storage.pools] };
  const pool = { backend: 'rest', url: storage.url, pool: 'fast', audience: 'fairlead', attachments };
  const values = [
    `operatorsOidc: ${JSON.stringify({ ...operatorAccount, keySet: JSON.parse(accountKeys) })}`,
    `extraArgs: [--gateway-name=${hostedGateway}]`,
    'extraVolumes: [{name: box, configMap: {name: box}}]',
    'extraVolumeMounts: [{name: box, mountPath: /etc/box, readOnly: true}]',
    `pools: ${JSON.stringify({ box: { ...pool, tls: { ca: '/etc/box/ca.crt' } } })}`,
  ];
  return {
    'DNS:storage.example': `IP:${address}`,
    'storage.example': address,
    // All replicas begin at once with a store of the previous release.
    'caSecret: db-ca}}': 'caSecret: db-ca}, upgrade: true}',
    'controller: {enabled: false}': 'image: {pullPolicy: Never}\ncontroller: {enabled: false}',
    'pools:\n    files: {backend: dir, dir: /srv/files, nfs: {server: nas.example, path: /srv/files}}':
      values.join('\n  '),
    'kubectl create namespace storage\n': `kubectl create namespace storage
kubectl create configmap box --namespace storage --from-file=ca.crt=${storage.certificate}\n`,
  };
}
