import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { schemaVersion } from '../../gateway/tables/schema.ts';
import { noPostgres } from '../harness/postgres.ts';
import { whyNoCluster } from './build/main.ts';
import { capture } from './cluster/capture.ts';
import type { Site } from './cluster/site.ts';
import { createDuring, requireOneVolumeEach } from './hosting/calls.ts';
import { hostingNamespace, operatorAccount } from './hosting/guide.ts';
import { installHosting, openHostingSite, replica, type Hosting } from './hosting/hosting.ts';
import { killAndWait, type Container } from './installation/containers.ts';
import { requireGone } from './scenarios/leftovers.ts';

/** The parts of the build that a cluster without a driver needs. */
const parts = ['debian', 'images', 'layer', 'kubernetes'];
const skip = whyNoCluster(parts) || noPostgres;

describe('three replicas of a gateway on Kubernetes, installed as the guide says', { skip }, () => {
  let site: Site;
  let hosting: Hosting;
  let hasFailed = true;
  const created: string[] = [];

  before(async () => {
    site = await openHostingSite();
    hosting = await installHosting(site);
    hasFailed = false;
  });

  after(async () => {
    if (hasFailed) process.stderr.write(`logs: ${site.saveLogs()}\n`);
    await site.end();
    requireGone(site.directory);
  });

  /** Lists the pools as an operator with the token of a service account. */
  const listPools = async (account: string): Promise<string> => {
    const how = [`--namespace=${hostingNamespace}`, `--audience=${operatorAccount.audience}`];
    const token = await hosting.cluster.kubectl('create', 'token', account, ...how);
    const file = join(hosting.files, `${account}.token`);
    writeFileSync(file, token, { mode: 0o600 });
    const context = ['--gateway', hosting.url, '--ca-file', join(hosting.files, 'tls.crt')];
    await hosting.operate('config', 'set-context', account, ...context, '--token-file', file);
    return hosting.operate('get', 'pools', '--context', account);
  };

  /** Remembers a failure, so that the logs are kept. */
  const scenario = (sentence: string, play: (t: TestContext) => Promise<void>) =>
    test(sentence, t =>
      play(t).catch((error: unknown) => {
        hasFailed = true;
        throw error;
      }),
    );

  scenario(
    'the replicas are on both nodes, and have upgraded the store of the previous release once',
    async () => {
      const replicas = await hosting.replicas();
      assert.equal(replicas.length, 3);
      assert.equal(new Set(replicas.map(({ node }) => node)).size, 2);
      const versions = await hosting.database.read('select version from schema_version');
      assert.equal(versions, String(schemaVersion));
    },
  );

  scenario(
    'an account of the OpenID provider is an operator, and another account of it is none',
    async () => {
      assert.match(await listPools('default'), /^box /m);
      await assert.rejects(listPools('fairlead-gateway'), /"sub" is not accepted/);
    },
  );

  scenario('no call fails while an upgrade replaces all replicas', async t => {
    const old = await hosting.replicas();
    const outcome = await createDuring(hosting, 'upgrade', async () => {
      await hosting.upgrade('gateway.store.upgrade=false');
      const pods = old.map(({ pod }) => `pod/${pod}`);
      const wait = ['wait', '--for=delete', ...pods, '--timeout=180s'];
      await hosting.cluster.kubectl('--namespace', hostingNamespace, ...wait);
    });
    created.push(...outcome.created);
    assert.deepEqual(outcome.failures, []);
    const ids = new Set((await hosting.replicas()).map(({ id }) => id));
    assert.equal(ids.size, 3);
    assert.ok(old.every(({ id }) => !ids.has(id)));
    t.diagnostic(`${outcome.created.length} creates`);
  });

  scenario('no volume is lost or doubled while replicas and the database are killed', async t => {
    const outcome = await createDuring(hosting, 'kills', async () => {
      for (const { name } of hosting.nodes) await killAndWait(hosting, replica, name);
      await hosting.database.kill();
      await hosting.database.start();
    });
    created.push(...outcome.created);
    await requireOneVolumeEach(hosting, created);
    t.diagnostic(`${outcome.created.length} creates, ${outcome.failures.length} calls were repeated`);
  });

  scenario('a drain evicts one replica at a time', async () => {
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
