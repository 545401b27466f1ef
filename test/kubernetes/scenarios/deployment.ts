import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { snapshotOf, valueSets } from '../../../deploy/render.ts';
import { apiAddressOf } from '../cluster/addresses.ts';
import { capture } from '../cluster/capture.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { waitFor } from '../cluster/wait.ts';
import { awayCluster, type Installation } from '../installation/installation.ts';
import { defineServices, removeServices } from './changed-blocks/definition.ts';
import { claim, pod } from './manifests.ts';
import { inWorkspace, type Scenarios } from './workspace.ts';

const deploy = resolve(import.meta.dirname, '../../../deploy');

/** Scenarios of `deploy/` beyond a complete release in one cluster. */
export const deploymentScenarios: Scenarios = {
  'each example works as described': ({ east }) =>
    inWorkspace(east.cluster, 'examples', async at => {
      await applyClasses(east.cluster);
      const apply = (...names: readonly string[]) =>
        at.kubectl('apply', ...names.map(name => `--filename=${deploy}/examples/${name}.yaml`));
      await apply('read-write-once', 'read-write-many', 'read-only-many');
      await at.kubectl('rollout', 'status', 'statefulset/read-write-once', '--timeout=180s');
      await apply('snapshot', 'clone');
      await at.untilReady('restored', 'clone');
      await apply('expansion', 'read-write-once-pod', 'block', 'ephemeral', 'modify');
      await at.untilReads('pvc/data-read-write-once-0', '{.status.capacity.storage}', /^3Gi$/);
      await at.untilReady('one-pod', 'block', 'ephemeral', 'modify');
      for (const name of ['read-write-many', 'read-only-many'])
        await at.kubectl('rollout', 'status', `deployment/${name}`, '--timeout=180s');
    }),

  'the API server takes each set of values of the chart as it stands': async ({ west: { cluster } }) => {
    await defineServices(cluster);
    // Its namespace already has a release, with classes of other names; it lacks the Prometheus operator and the Gateway API.
    for (const name of valueSets().keys()) {
      const manifests = snapshotOf(name)
        .replaceAll(/^( +namespace:) fairlead$/gm, '$1 default')
        .split(/^---$/m);
      const known = manifests
        .filter(manifest => !/^kind: (ServiceMonitor|PrometheusRule|HTTPRoute)$/m.test(manifest))
        .join('---');
      const how = ['--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict'];
      await capture(cluster.commandLine(['apply', ...how, '--filename', '-']), known);
    }
    await removeServices(cluster);
  },

  'a controller does its work by the tokens of its service account, and no key is in its cluster': ({
    west,
  }) =>
    inWorkspace(west.cluster, 'by-account', async at => {
      const pods = await at.kubectl('--namespace=fairlead', 'get', 'pods,secrets', '--output=yaml');
      if (!/--token-file=/.test(pods) || /--key-file=|key\.jwk\.json/.test(pods)) throw new Error(pods);
      await at.apply(
        claim('data', { class: 'files' }),
        pod('app', { claim: 'data', script: 'echo 1 > /data/file' }),
      );
      await at.untilReady('app');
      await at.remove('pod/app', 'pvc/data');
    }),

  'clusters that call their issuer the same are known by its keys, for one account and audience':
    async installation => {
      const { east, west } = installation;
      for (const { cluster, nodes } of [east, west]) {
        const token = await makeToken(cluster);
        const names = nodes.map(({ name }) => name).join();
        await waitFor(`the nodes ${names} alone`, async () => {
          const { status, body } = await listNodes(installation, token);
          assert.equal(status, 200);
          return namesIn(body) === names || undefined;
        });
        const wrong = { audience: 'other', account: 'fairlead-node' };
        for (const [what, value] of Object.entries(wrong)) {
          const refused = await listNodes(installation, await makeToken(cluster, { [what]: value }));
          assert.equal(refused.status, 401);
          assert.match(
            refused.body,
            what === 'audience' ? /\\"aud\\" is not accepted/ : /\\"sub\\" is not accepted/,
          );
        }
      }
    },

  'a cluster with nothing but the agent is served by a controller elsewhere': installation =>
    inWorkspace(installation.west.cluster, 'agent-alone', async at => {
      const { agent, controller } = await installApart(installation);
      await at.apply(
        claim('data', { class: 'away', mode: 'ReadWriteMany' }),
        pod('app', { claim: 'data', script: 'echo 1 > /data/file' }),
      );
      await at.untilReady('app');
      const found = await at.kubectl('--namespace=agent', 'get', 'pods', '--output=name');
      if (/controller/.test(found)) throw new Error(`saw ${found}`);
      await at.remove('pod/app', 'pvc/data');
      const names = '{.items[?(@.spec.storageClassName=="away")].metadata.name}';
      await at.untilReads('pv', names, /^$/);
      await controller('uninstall', 'away', '--wait');
      await agent('uninstall', 'away', '--wait');
    }),
};

/** Applies the classes of the examples, as the chart makes them. */
async function applyClasses(cluster: Cluster): Promise<void> {
  const files = [
    '--values',
    `${deploy}/snapshots/minimal.values.yaml`,
    '--values',
    `${deploy}/values/examples.yaml`,
  ];
  const none = ['volumeSnapshotClasses', 'volumeGroupSnapshotClasses'].map(name => `--set-json=${name}=[]`);
  const chart = ['fairlead', `${deploy}/chart`, '--show-only=templates/cluster/classes.yaml'];
  const classes = await helmOf(cluster, 'default')(
    'template',
    ...chart,
    ...files,
    ...none,
    '--kube-version=1.36',
  );
  await capture(cluster.commandLine(['apply', '--filename', '-']), classes);
}

/**
 * Installs a driver with its agent in the second cluster and its controller in the first. Does not wait for the agent
 * before the controller, which passes the gateway's keys to it.
 */
async function installApart({ gateway, site, east, west }: Installation) {
  const agent = helmOf(west.cluster, 'agent');
  const controller = helmOf(east.cluster, 'hosting');
  const directory = join(site.directory, 'away');
  mkdirSync(directory);
  const values = join(directory, 'values.json');
  const driver = { name: 'away.fairlead.dev' };
  const node = { port: 9810, statePath: '/var/lib/fairlead-away', localRoots: [gateway.pools] };
  const storageClasses = [{ name: 'away', pool: 'files' }];
  const image = { pullPolicy: 'Never' };
  writeFileSync(values, JSON.stringify({ driver, node, image, storageClasses, controller: { replicas: 1 } }));
  const chart = [`${deploy}/chart`, `--values=${values}`];
  const alone = ['--set=controller.enabled=false', '--set=controller.remoteAccess=true'];
  const noClasses = ['volumeSnapshotClasses', 'volumeGroupSnapshotClasses'].map(
    name => `--set-json=${name}=[]`,
  );
  await agent('install', 'away', ...chart, ...alone, ...noClasses, '--create-namespace');
  const kubeconfig = await writeKubeconfig(west.cluster, directory);
  const kubectl = (...args: readonly string[]) => east.cluster.kubectl('--namespace=hosting', ...args);
  await kubectl('create', 'namespace', 'hosting');
  await kubectl('create', 'secret', 'generic', 'remote', `--from-file=kubeconfig=${kubeconfig}`);
  const secret = readFileSync(gateway.fileOf(awayCluster, 'secret'), 'utf8');
  const here = secret.replace('"namespace":"fairlead"', '"namespace":"hosting"');
  await capture(east.cluster.commandLine(['apply', '--filename', '-']), here);
  const known = [
    `--values=${gateway.fileOf(awayCluster, 'values')}`,
    `--set-file=extraCaCerts=${gateway.certificate}`,
  ];
  const remote = ['--set=remoteKubeconfig.secretName=remote', '--set=remoteKubeconfig.namespace=agent'];
  await controller('install', 'away', ...chart, ...known, ...remote, '--wait', '--timeout=3m');
  const rollout = ['rollout', 'status', 'daemonset/away-fairlead-node', '--timeout=180s'];
  await west.cluster.kubectl('--namespace=agent', ...rollout);
  return { agent, controller };
}

/** Writes a kubeconfig as the guide says, with the token that the agent's release makes. */
async function writeKubeconfig(cluster: Cluster, directory: string): Promise<string> {
  const read = async (key: string): Promise<string> => {
    const secret = ['secret', 'away-fairlead-controller-token', `--output=jsonpath={.data.${key}}`];
    return Buffer.from(await cluster.kubectl('--namespace=agent', 'get', ...secret), 'base64').toString();
  };
  const [authority, file] = [join(directory, 'ca.crt'), join(directory, 'kubeconfig')];
  writeFileSync(authority, await read('ca\\.crt'));
  const server = `https://${apiAddressOf(cluster.number)}`;
  for (const args of [
    ['set-cluster', 'away', `--server=${server}`, `--certificate-authority=${authority}`, '--embed-certs'],
    ['set-credentials', 'away', `--token=${await read('token')}`],
    ['set-context', 'away', '--cluster=away', '--user=away'],
    ['use-context', 'away'],
  ])
    await capture([join(cluster.site.bin, 'kubectl'), 'config', `--kubeconfig=${file}`, ...args]);
  return file;
}

function helmOf({ site, credentials }: Cluster, namespace: string) {
  const how = [`--kubeconfig=${credentials.kubeconfigOf('admin')}`, `--namespace=${namespace}`];
  const command = ['env', `HOME=${site.directory}`, join(site.bin, 'helm'), ...how];
  return (...args: readonly string[]) => capture(site.namespace.enter([...command, ...args]));
}

/** Makes a token of one of the driver's service accounts, by default the controller's, at the API server. */
function makeToken(
  cluster: Cluster,
  { account = 'fairlead-controller', audience = 'fairlead' }: { account?: string; audience?: string } = {},
): Promise<string> {
  const how = ['--namespace=fairlead', `--audience=${audience}`, '--duration=10m'];
  return cluster.kubectl('create', 'token', account, ...how);
}

const listing = `fetch(process.argv[1] + '/v1/nodes', { headers: { authorization: 'Bearer ' + process.argv[2] } })
  .then(async answer => console.log(JSON.stringify({ status: answer.status, body: await answer.text() })))`;

/** Lists the nodes of the token's cluster at the gateway and returns the raw answer. */
async function listNodes(
  { site, gateway }: Installation,
  token: string,
): Promise<{ status: number; body: string }> {
  const node = ['env', `NODE_EXTRA_CA_CERTS=${gateway.certificate}`, process.execPath, '--eval', listing];
  return JSON.parse(await site.run([...node, gateway.url, token.trim()]));
}

/** Lists the names of the nodes in a page, in order; an id begins with the name. */
function namesIn(body: string): string {
  const { nodes } = JSON.parse(body) as { readonly nodes: readonly { readonly id: string }[] };
  const names = nodes.map(({ id }) => id.split('~')[0]);
  return names.sort().join();
}
