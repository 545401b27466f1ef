import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';
import { findHelm, renderChart, snapshotOf } from '../../../deploy/render.ts';

type Manifest = { readonly kind: string; readonly spec?: { readonly strategy?: { readonly type: string } } };

const helm = findHelm();
const skip = helm === undefined && 'helm is not there: deploy/fetch-helm.sh fetches it';

const manifestsOf = (name: string) =>
  parseAllDocuments(snapshotOf(name)).map(document => document.toJS() as Manifest);

test('a release with a gateway alone makes no driver and no classes', () => {
  assert.deepEqual(
    manifestsOf('ingress')
      .map(({ kind }) => kind)
      .sort(),
    ['ConfigMap', 'Deployment', 'Ingress', 'PodDisruptionBudget', 'Service', 'ServiceAccount'],
  );
  assert.ok(manifestsOf('replicas').some(({ kind }) => kind === 'HTTPRoute'));
});

test('replicas are replaced one after another, except while they upgrade the store', () => {
  const [rolling, recreated] = ['replicas', 'upgrade'].map(name => [
    manifestsOf(name).find(({ kind }) => kind === 'Deployment')?.spec?.strategy?.type,
    snapshotOf(name).includes('--keep-store-version'),
  ]);
  assert.deepEqual(rolling, ['RollingUpdate', true]);
  assert.deepEqual(recreated, ['Recreate', false]);
});

/** Makes values of a gateway with replicas, and with these values of the gateway. */
const hosted = (more: object): string => {
  const store = { postgres: { urlSecret: 'database' } };
  return stringify({
    cluster: { name: 'east' },
    gateway: { enabled: true, replicas: 3, store, keySecret: 'keys', ...more },
  });
};

for (const [fault, text] of [
  [
    'several replicas cannot share a SQLite file; set gateway.store.postgres.urlSecret',
    hosted({ store: {} }),
  ],
  ['needs gateway.keySecret, .*: make the file with "fairlead enroll gateway"', hosted({ keySecret: '' })],
  [
    "gateway.pools.fast is on a machine's own disk, .*: run a gateway on that machine",
    hosted({ pools: { fast: { backend: 'image', dir: '/srv/fast' } } }),
  ],
  ['gateway.pools.one is in the memory of one process', hosted({ pools: { one: { backend: 'memory' } } })],
  ['gateway.node holds all replicas on one node: remove it', hosted({ node: 'box' })],
  ['gateway.persistence is for SQLite', hosted({ persistence: { existingClaim: 'store' } })],
  ['gateway.clientCaSecret needs gateway.tlsSecret', hosted({ clientCaSecret: 'ca' })],
  [
    'gateway.clientCaSecret cannot be combined .*: use gateway.serviceType LoadBalancer',
    hosted({ clientCaSecret: 'ca', tlsSecret: 'tls', ingress: { host: 'storage.example' } }),
  ],
  [
    'terminationGracePeriodSeconds is too short: set it to 15 or more',
    hosted({ terminationGracePeriodSeconds: 10 }),
  ],
] as const)
  test(`values of replicas are refused with "${fault}"`, { skip }, async () => {
    await assert.rejects(renderChart(helm ?? '', text), new RegExp(fault));
  });
