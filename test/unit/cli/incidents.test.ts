import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { storeSetting } from '../../../gateway/config.ts';
import { openStore } from '../../../gateway/stores/index.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { version } from '../../../src/lib/version.ts';
import { startIncident } from '../../harness/cli/incident.ts';
import { callWithin } from '../../harness/gateway/program.ts';
import { mounted, newVolume, openMemory } from '../../harness/gateway.ts';

test('fairlead status says that everything works, with a line for each part', async t => {
  const { gateway, ask } = await startIncident(t);
  await gateway.create('a.one');
  await ask('admin check');
  const { status, stdout, stderr } = await ask('status');
  assert.deepEqual([status, stderr], [0, '']);
  assert.match(
    stdout,
    /^everything works\n\ngateway +version \S+, up for \d+s, on \S+; what follows is as this replica sees it\nclock +agrees with the store\nstore +answers in \d+ ms\npool fast +open, 0% of 1Ti reserved, 1 volume, checked \d+s ago\ncluster a +enrolled, 1 volume, 0 nodes, last seen \d+s ago\ncluster b +enrolled.*\noperations +0 running\nstorage +checked \d+s ago, 0 differences to the store\n$/,
  );
  const { ok, problems } = JSON.parse((await ask('status -o json')).stdout) as Record<string, unknown>;
  assert.deepEqual([ok, problems], [true, []]);
});

test('incident: the gateway is down', async t => {
  const { gateway, walk, metric } = await startIncident(t);
  assert.equal(await metric(`fairlead_gateway_info{version="${version}"}`), 1);
  await gateway.end();
  await assert.rejects(metric('fairlead_gateway_info'));
  const { status, stdout } = await walk('FairleadGatewayAbsent', 'status');
  assert.equal(status, 1);
  assert.match(stdout, /^1 problem needs attention\n! gateway: http:\S+ does not answer: /);
  assert.match(stdout, /kubectl get pods, or systemctl status/);
});

test('incident: the pool is full', async t => {
  const pools = { fast: { backend: 'memory', capacity: 2 ** 22 } };
  const { gateway, walk, ask, metric, untilMetric } = await startIncident(t, { pools });
  await gateway.create('a.big', { requiredBytes: 2 ** 22 });
  await assert.rejects(gateway.create('a.more'), { code: 'RESOURCE_EXHAUSTED' });
  const { status, stdout } = await ask('status');
  assert.equal(status, 1);
  assert.match(
    stdout,
    /! pool fast: 100% of 4Mi reserved: it is nearly full\n {4}enlarge the storage, or delete/,
  );
  await untilMetric('fairlead_gateway_reserved_bytes{pool="fast",cluster="a"}', 2 ** 22);
  assert.equal(await metric('fairlead_gateway_pool_capacity_bytes{pool="fast"}'), 2 ** 22);
  const volumes = await walk('FairleadPoolFills', 'get volumes --sort-by -size');
  assert.match(volumes.stdout, /a\.big/);
});

test('incident: the quota is used up', async t => {
  const { gateway, ask, hear } = await startIncident(t, { clusters: { a: { quota: { bytes: 2 ** 22 } } } });
  await gateway.create('a.big', { requiredBytes: 2 ** 22 });
  await assert.rejects(gateway.create('a.more'), { code: 'RESOURCE_EXHAUSTED' });
  const { status, stdout } = await ask('status');
  assert.equal(status, 1);
  assert.match(stdout, /! cluster a: its quota is used up: bytes:4Mi\/4Mi\n {4}raise clusters\.a\.quota/);
  hear('a.more');
  const { stdout: cause } = await ask('explain a.more');
  assert.match(cause, /cluster "a" has used up its quota \(bytes:4Mi\/4Mi\)/);
  assert.match(
    cause,
    /ended with RESOURCE_EXHAUSTED: the quota "bytes" of cluster "a" is 4194304: 4194304 are/,
  );
  const { stdout: log } = await ask('get audit-log a.more');
  assert.match(log, / RESOURCE_EXHAUSTED +1 +the quota "bytes" of cluster "a" is 4194304/);
});

const keyFiles: readonly (readonly [sentence: string, change: (path: string) => void, fault: RegExp])[] = [
  ['garbage', path => writeFileSync(path, '}garbage'), /a\.jwks\.json: is not JSON/],
  ['empty', path => writeFileSync(path, ''), /a\.jwks\.json: is not JSON/],
  ['without keys', path => writeFileSync(path, '{"keys":[]}'), /a\.jwks\.json: has no keys/],
  ['removed', path => rmSync(path), /a\.jwks\.json: cannot be read/],
];

for (const [sentence, change, fault] of keyFiles)
  test(`incident: the key file of a cluster is ${sentence}`, async t => {
    const { gateway, walk, ask, hear, until, untilMetric } = await startIncident(t);
    change(join(gateway.directory, 'a.jwks.json'));
    await until(/tokens are refused/);
    await untilMetric('fairlead_gateway_key_faults', 1);
    const { status, stdout } = await walk('FairleadKeysFaulty', 'status');
    assert.equal(status, 1);
    assert.match(stdout, /! cluster a: its tokens are refused: .*\n {4}mend the file on the gateway/);
    assert.match(stdout, fault);
    const clusters = await ask('get clusters');
    assert.match(clusters.stdout, /^a +faulty keys .*a\.jwks\.json/m);
    hear('a.one');
    assert.match((await ask('explain a.one')).stdout, fault);
  });

test('incident: the token of a cluster has expired, or its key was removed', async t => {
  const { gateway, walk, ask, hear, untilMetric } = await startIncident(t);
  const past = Math.floor(Date.now() / 1_000) - 900;
  const { a, b } = gateway.signers;
  const expired = { iat: past, exp: past + 60 };
  const send = async (token: string): Promise<string> => {
    const answer = await fetch(`${gateway.url}/v1/nodes`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(answer.status, 401);
    return answer.text();
  };
  await send(await a.sign(expired));
  await untilMetric('fairlead_gateway_refused_tokens_total{reason="expired"}', 1);
  const first = await walk('FairleadTokensRefused', 'status');
  assert.equal(first.status, 1);
  assert.match(
    first.stdout,
    /! cluster a: 1 token with its name was refused in the last 5 minutes, the last at \S+: .*expired.*\n.* fairlead enroll a\), and synchronize the clocks/,
  );
  writeFileSync(join(gateway.directory, 'b.jwks.json'), JSON.stringify({ keys: [a.publicJwk] }));
  // A token that was accepted before would hide the loss of the key for 5 minutes.
  const ofGoneKey = await b.sign(expired);
  await poll(async () => (await send(ofGoneKey)).includes('kid') || undefined, {
    everyMs: 50,
    timeoutMs: 10_000,
  });
  assert.match(
    (await ask('status')).stdout,
    /! cluster b: \d+ tokens? with its name (was|were) refused .*"kid"/,
  );
  hear('b.one');
  assert.match((await ask('explain b.one')).stdout, /^cluster "b": \d+ tokens? with its name .*"kid"/m);
});

test('a cluster shows when it was last seen, and what it left behind when it was removed', async t => {
  const { gateway, ask, walk, until, metric } = await startIncident(t);
  await gateway.create('a.one');
  assert.match((await walk('FairleadClusterSilent', 'get clusters')).stdout, /^a .* \ds/m);
  const [a = Infinity, b = 0] = [
    await metric('fairlead_gateway_cluster_silent_seconds{cluster="a"}'),
    await metric('fairlead_gateway_cluster_silent_seconds{cluster="b"}'),
  ];
  assert.ok(a < b, `cluster a is silent for ${a} s, cluster b for ${b} s`);
  const path = join(gateway.directory, 'gateway.yaml');
  const file = JSON.parse(readFileSync(path, 'utf8')) as { clusters: Record<string, unknown> };
  delete file.clusters['a'];
  writeFileSync(path, JSON.stringify(file));
  await until(/not enrolled/);
  const { status, stdout } = await walk('FairleadClusterSilent', 'status');
  assert.equal(status, 1);
  assert.match(stdout, /! cluster a: it is not in gateway\.yaml, but still has 1 volume and 0 nodes\n/);
  assert.match((await ask('get volumes --cluster a -o name')).stdout, /^a\.one\n$/);
});

test('a retired cluster is not silent, and status has nothing to do, even after its entry was removed', async t => {
  const { gateway, ask, hear, metric } = await startIncident(t);
  await gateway.create('a.one');
  const silence = 'fairlead_gateway_cluster_silent_seconds';
  assert.notEqual(await metric(`${silence}{cluster="a"}`), undefined);
  assert.equal((await ask('admin retire-cluster a')).status, 0);
  const isGone = async () => (await metric(`${silence}{cluster="a"}`)) === undefined || undefined;
  assert.ok(await poll(isGone, { everyMs: 100, timeoutMs: 10_000 }));
  assert.notEqual(await metric(`${silence}{cluster="b"}`), undefined);
  const path = join(gateway.directory, 'gateway.yaml');
  const file = JSON.parse(readFileSync(path, 'utf8')) as { clusters: Record<string, unknown> };
  delete file.clusters['a'];
  writeFileSync(path, JSON.stringify(file));
  const { status, stdout } = await ask('status');
  assert.deepEqual([status, /^cluster a +retired \d+s ago, 1 volume, 0 nodes/m.test(stdout)], [0, true]);
  hear('a.one');
  assert.match((await ask('explain a.one')).stdout, /^cluster "a" has been retired for \d+s/);
});

test('incident: the storage has an orphan, and another volume is missing there', async t => {
  const inner = await openMemory();
  const { gateway, walk, until, metric } = await startIncident(t, {
    own: inner,
    flags: { 'check-every': '100ms' },
  });
  await gateway.create('a.kept');
  await gateway.create('a.lost');
  await inner.create(newVolume('a.orphan'));
  await inner.delete({ id: 'a.lost' });
  await until(/2 differences/);
  for (const problem of ['unknown', 'missing'])
    assert.equal(await metric(`fairlead_gateway_findings{pool="fast",problem="${problem}"}`), 1);
  const { status, stdout } = await walk('FairleadVolumesMissing', 'status');
  assert.equal(status, 1);
  assert.match(
    stdout,
    /! storage: pool "fast": volume "a\.lost": in the store, not in the storage\n {4}restore it on the storage from a backup, or/,
  );
  assert.match(
    stdout,
    /! storage: pool "fast": volume "a\.orphan": in the storage, not in the store\n {4}import it .* fairlead admin repair/,
  );
  await until(
    /^the storage of pool "fast" has volume "a\.orphan", but the store does not\n {4}import it \(fairlead admin import a\.orphan --pool fast\)/m,
    'explain a.orphan',
  );
  assert.match((await walk('FairleadOrphans', 'admin repair')).stdout, /a\.orphan/);
  await gateway.client.deleteVolume({ volumeId: 'a.lost' }, callWithin());
  assert.doesNotMatch((await walk('FairleadVolumesMissing', 'admin check')).stdout, /a\.lost/);
});

test('incident: a node is gone, and its volumes are still attached there', async t => {
  const { gateway, walk, ask, until, metric } = await startIncident(t);
  const { client } = gateway;
  await gateway.create('a.one');
  await client.putNode({ nodeId: 'n1', body: {} }, callWithin());
  const body = { capability: mounted, readonly: false };
  await client.attachVolume({ volumeId: 'a.one', nodeId: 'n1', body }, callWithin());
  await assert.rejects(client.deleteNode({ nodeId: 'n1' }, callWithin()), { code: 'FAILED_PRECONDITION' });
  const { status, stdout } = await ask('status');
  assert.equal(status, 1);
  assert.match(
    stdout,
    /! node a\/n1: its cluster has not had it for \d+s, but 1 volume is attached to it\n.* fairlead admin detach-node a n1\n/,
  );
  assert.equal(await metric('fairlead_gateway_missing_nodes{cluster="a"}'), 1);
  await until(
    /no longer reports this node: if it is off for good, .* fairlead admin detach-node a n1\n/,
    'explain a.one',
  );
  const command = 'admin detach-node CLUSTER NODE';
  assert.equal((await walk('FairleadNodeMissing', 'admin detach-node a n1', command)).status, 0);
  await client.deleteNode({ nodeId: 'n1' }, callWithin());
  assert.equal((await ask('status')).status, 0);
});

test('a node that its cluster reports again is not gone', async t => {
  const { gateway, ask } = await startIncident(t);
  const { client } = gateway;
  await gateway.create('a.one');
  await client.putNode({ nodeId: 'n1', body: {} }, callWithin());
  const body = { capability: mounted, readonly: false };
  await client.attachVolume({ volumeId: 'a.one', nodeId: 'n1', body }, callWithin());
  await assert.rejects(client.deleteNode({ nodeId: 'n1' }, callWithin()));
  assert.match((await ask('get nodes')).stdout, /\ds$/m);
  await client.putNode({ nodeId: 'n1', body: {} }, callWithin());
  assert.equal((await ask('status')).status, 0);
});

test('incident: an operation is stuck', async t => {
  const hanging = Promise.withResolvers<never>();
  const own = { create: () => hanging.promise };
  const { gateway, walk, ask, metric } = await startIncident(t, { own });
  const creating = gateway.create('a.one').catch(() => undefined);
  const engine = await openStore(storeSetting(gateway.store));
  t.after(() => engine.close());
  const isClaimed = await poll(
    () => engine.transaction(async sql => (await sql.run('update claims set since_ms = 1')) || undefined),
    { everyMs: 20, timeoutMs: 10_000 },
  );
  assert.ok(isClaimed);
  const { status, stdout } = await ask('status');
  assert.equal(status, 1);
  assert.match(
    stdout,
    /! operations: create of "a\.one" has been running for \d+d\n.* fairlead explain a\.one/,
  );
  assert.ok(((await metric('fairlead_gateway_oldest_claim_seconds')) ?? 0) > 1_800);
  const { stdout: cause } = await walk('FairleadWorkStuck', 'explain a.one', 'explain ID');
  assert.match(cause, /create has been running on volume "a\.one"/);
  assert.match((await ask('describe pool fast')).stdout, /^oldest-call: +create since /m);
  hanging.reject(new Error('the test ended'));
  await creating;
});
