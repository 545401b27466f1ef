import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { schemaVersion } from '../../gateway/tables/schema.ts';
import { noPostgres } from '../harness/postgres.ts';
import { whyNoCluster } from './build/main.ts';
import { capture } from './cluster/capture.ts';
import { createDuring, requireVolumes } from './hosting/calls.ts';
import {
  callsOf,
  claimDuring,
  failuresBetween,
  requireOneVolumeEach,
  untilNoVolume,
} from './hosting/claims.ts';
import { hostingNamespace, operatorAccount } from './hosting/guide.ts';
import { installHosting, openHostingSite, replica, type Hosting } from './hosting/hosting.ts';
import { killAndWait, type Container } from './installation/containers.ts';
import { requireWriting, startWriter } from './scenarios/consistency.ts';
import { inWorkspace } from './scenarios/workspace.ts';
import { useSite } from './suite.ts';

const skip = whyNoCluster() || noPostgres;

describe('three replicas of a gateway on Kubernetes, installed as the guide says', { skip }, () => {
  const scenario = useSite(openHostingSite, installHosting);
  const created: string[] = [];

  scenario(
    'the replicas are on both nodes, and have upgraded the store of the previous release once',
    async hosting => {
      const replicas = await hosting.replicas();
      assert.equal(replicas.length, 3);
      assert.equal(new Set(replicas.map(({ node }) => node)).size, 2);
      const versions = await hosting.database.read('select version from schema_version');
      assert.equal(versions, String(schemaVersion));
    },
  );

  scenario(
    'an account of the OpenID provider is an operator, and another account of it is none',
    async hosting => {
      assert.match(await listPools(hosting, 'default'), /^box /m);
      await assert.rejects(listPools(hosting, 'fairlead-gateway'), /"sub" is not accepted/);
    },
  );

  scenario('no call fails while an upgrade replaces all replicas', async (hosting, t) => {
    const upgrade = () => replaceReplicas(hosting, 'gateway.store.upgrade=false');
    const outcome = await createDuring(hosting, 'upgrade', upgrade);
    created.push(...outcome.created);
    assert.deepEqual(outcome.failures, []);
    t.diagnostic(`${outcome.created.length} creates`);
  });

  scenario('no volume is lost or doubled while replicas and the database are killed', async (hosting, t) => {
    const outcome = await createDuring(hosting, 'kills', () => killReplicasAndDatabase(hosting));
    created.push(...outcome.created);
    await requireVolumes(hosting, created);
    t.diagnostic(`${outcome.created.length} creates, ${outcome.failures.length} calls were repeated`);
  });

  scenario(
    "another cluster's claims are bound while an upgrade replaces all replicas, and no call of its controller fails",
    async (hosting, t) => {
      const before = await callsOf(hosting);
      await inWorkspace(hosting.served, 'upgrade', async at => {
        await startWriter(at);
        await claimDuring(at, 'claim', () => replaceReplicas(hosting, 'gateway.podAnnotations.round=second'));
        t.diagnostic(`${await requireOneVolumeEach(at, hosting)} claims`);
        await requireWriting(at);
      });
      await untilNoVolume(hosting);
      assert.deepEqual(failuresBetween(before, await callsOf(hosting)), []);
    },
  );

  scenario(
    "another cluster's claims are bound, each to one volume, while replicas and the database are killed",
    async (hosting, t) => {
      const before = await callsOf(hosting);
      await inWorkspace(hosting.served, 'kills', async at => {
        await startWriter(at);
        await claimDuring(at, 'claim', () => killReplicasAndDatabase(hosting));
        t.diagnostic(`${await requireOneVolumeEach(at, hosting)} claims`);
        await requireWriting(at);
      });
      await untilNoVolume(hosting);
      for (const failure of failuresBetween(before, await callsOf(hosting))) t.diagnostic(failure);
    },
  );

  scenario('a drain evicts one replica at a time', async hosting => {
    const [first, second] = await hosting.replicas();
    assert.ok(first && second);
    const evict = ({ pod: name }: Container): Promise<string> => {
      const metadata = { name, namespace: hostingNamespace };
      const eviction = JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata });
      const path = `/api/v1/namespaces/${hostingNamespace}/pods/${name}/eviction`;
      return capture(hosting.cluster.commandLine(['create', '--raw', path, '--filename=-']), eviction);
    };
    await evict(first);
    await assert.rejects(evict(second), /disruption budget/);
    const rollout = ['rollout', 'status', 'deployment/fairlead-gateway', '--timeout=180s'];
    await hosting.cluster.kubectl('--namespace', hostingNamespace, ...rollout);
  });
});

/** Lists the pools as an operator with the token of a service account. */
async function listPools(hosting: Hosting, account: string): Promise<string> {
  const how = [`--namespace=${hostingNamespace}`, `--audience=${operatorAccount.audience}`];
  const token = await hosting.cluster.kubectl('create', 'token', account, ...how);
  const file = join(hosting.files, `${account}.token`);
  writeFileSync(file, token, { mode: 0o600 });
  const context = ['--gateway', hosting.url, '--ca-file', join(hosting.files, 'tls.crt')];
  await hosting.operate('config', 'set-context', account, ...context, '--token-file', file);
  return hosting.operate('get', 'pools', '--context', account);
}

/** Upgrades the release with a value; resolves once the old replicas are gone, and fails unless all were replaced. */
async function replaceReplicas(hosting: Hosting, value: string): Promise<void> {
  const old = await hosting.replicas();
  await hosting.upgrade(value);
  const pods = old.map(({ pod }) => `pod/${pod}`);
  const wait = ['wait', '--for=delete', ...pods, '--timeout=180s'];
  await hosting.cluster.kubectl('--namespace', hostingNamespace, ...wait);
  const ids = new Set((await hosting.replicas()).map(({ id }) => id));
  assert.equal(ids.size, 3);
  assert.ok(old.every(({ id }) => !ids.has(id)));
}

/** Kills a replica on each node and then the database, and starts the database again. */
async function killReplicasAndDatabase(hosting: Hosting): Promise<void> {
  for (const { name } of hosting.nodes) await killAndWait(hosting, replica, name);
  await hosting.database.kill();
  await hosting.database.start();
}
