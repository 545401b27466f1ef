import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { startStorageApi } from '../../fakes/storage-api.ts';
import { startIncident } from '../../harness/cli/incident.ts';
import { callWithin } from '../../harness/gateway/program.ts';
import { mounted, volumeSpec } from '../../harness/gateway.ts';

const offer = {
  version: '1',
  accessModes: ['SINGLE_NODE_WRITER'],
  accessTypes: ['mount', 'block'],
  features: [],
  zeroed: true,
  pools: [],
};

/** Starts a vendor's storage that works until it answers every request in another way. */
async function startVendor(t: TestContext, breakFor = '30s') {
  let fail: ((response: ServerResponse) => void) | undefined;
  const api = await startStorageApi(t, [
    ({ url }, response) => {
      if (fail) return fail(response);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(url?.startsWith('/v1/volumes') ? { volumes: [] } : offer));
    },
  ]);
  const settings = { backend: 'rest', url: api.url, tries: 1, requestTimeout: '500ms', breakAfter: 2 };
  return {
    url: api.url,
    pools: { acme: { ...settings, breakFor, lookEvery: '1h' } },
    answer: (how: typeof fail) => void (fail = how),
  };
}

test('incident: the storage hangs after the gateway has started', async t => {
  const hanging = Promise.withResolvers<never>();
  let hangs = false;
  const own = {
    capacity: async () => (hangs ? hanging.promise : { totalBytes: 2 ** 40 }),
  };
  const { gateway, walk, ask, hear, metric, until } = await startIncident(t, { own });
  assert.equal(await metric('fairlead_gateway_pool_answers{pool="fast"}'), 1);
  hangs = true;
  t.after(() => hanging.reject(new Error('the test ended')));
  const body = volumeSpec('one', { requiredBytes: 2 ** 20 });
  // A create that waits for the answer about the size is recorded nowhere until its caller's time is over.
  const creating = gateway.client.createVolume(
    { volumeId: 'a.one', body },
    { deadlineMs: Date.now() + 4_000 },
  );
  await assert.rejects(creating);
  await until(/create +a\.one +fast +DEADLINE_EXCEEDED/, 'get audit-log');
  const { status, stdout } = await walk('FairleadPoolSilent', 'status');
  assert.equal(status, 1);
  assert.match(
    stdout,
    /! pool fast: its storage does not answer; failing since \S+; no answer within 2 s\n {4}check the storage/,
  );
  assert.match((await ask('get pools')).stdout, /^fast +memory +open +no .* its storage does not answer; /m);
  hear('a.one');
  const { stdout: cause } = await walk('FairleadPoolSilent', 'explain a.one', 'explain ID');
  assert.match(cause, /^pool "fast": its storage does not answer; failing since /m);
  assert.match(
    cause,
    /^the last call, create \(fast\) by a \d+s ago, ended with DEADLINE_EXCEEDED: pool "fast": its storage did not answer within \S+ s, so nothing was begun/m,
  );
  assert.equal(await metric('fairlead_gateway_pool_outage{pool="fast",outage="silent"}'), 1);
});

test('incident: a storage over REST fails while nothing calls it, and answers again', async t => {
  const { pools, answer } = await startVendor(t, '100ms');
  const { ask, until, untilMetric } = await startIncident(t, { pools });
  answer(response => response.destroy());
  await untilMetric('fairlead_gateway_pool_answers{pool="acme"}', 0);
  const { status, stdout } = await ask('status');
  assert.equal(status, 1);
  assert.match(
    stdout,
    /! pool acme: its storage does not answer; failing since \S+; .*reach failed at \S+ with UNAVAILABLE: /,
  );
  answer(undefined);
  await until(/^nothing needs attention.*\n(.*\n)*pool acme +open, /m);
});

test('incident: all calls of a storage time out, and a volume waits for it', async t => {
  const before = Date.now();
  const { pools, answer } = await startVendor(t);
  const { gateway, ask, hear, until } = await startIncident(t, { pools });
  answer(() => {});
  for (const name of ['one', 'two', 'three'])
    await assert.rejects(gateway.create(`a.${name}`), { code: 'UNAVAILABLE' });
  await until(/pauses its requests/);
  const { stdout } = await ask('status');
  assert.match(stdout, /! pool acme: its storage does not answer; failing since \S+; \d of \d calls failed/);
  hear('a.one');
  const { stdout: cause } = await ask('explain a.one');
  const [, since = '', failure = ''] =
    /^pool "acme": its storage does not answer; failing since (\S+);.*; create failed at \S+ with UNAVAILABLE: (.*)$/m.exec(
      cause,
    ) ?? [];
  assert.ok(Date.parse(since) >= before && Date.parse(since) <= Date.now(), cause);
  assert.match(
    failure,
    /requests to the storage pause for 30 s, because the last 2 failed: it took the request/,
  );
  assert.ok(cause.startsWith('pool "acme"'), cause);
  const { stdout: volume } = await ask('describe volume a.one');
  assert.match(
    volume,
    /^pools:\n +id .*\n +acme +rest +open +paused .* its storage does not answer; failing/m,
  );
});

test('incident: the vendor answers 500', async t => {
  const { url, pools, answer } = await startVendor(t);
  const { gateway, walk, ask, hear, metric } = await startIncident(t, { pools });
  answer(response => {
    response.writeHead(500, { 'content-type': 'application/json' });
    response.end('"boom"');
  });
  for (const name of ['one', 'two', 'three'])
    await assert.rejects(gateway.create(`a.${name}`), { code: 'UNAVAILABLE' });
  assert.equal(await metric('fairlead_gateway_pool_outage{pool="acme",outage="errors"}'), 1);
  const { status, stdout } = await walk('FairleadPoolSilent', 'status');
  assert.equal(status, 1);
  assert.match(
    stdout,
    /! pool acme: its storage answers with errors; failing since \S+; .* calls failed in the last 5 minutes; the gateway pauses its requests; create failed at \S+ with UNAVAILABLE: pool "acme": .*500.* \(request [\w-]+\)\n/,
  );
  const pool = await walk('FairleadPoolSilent', 'describe pool acme', 'describe pool POOL');
  assert.match(pool.stdout, /^answers: +paused$/m);
  assert.ok(pool.stdout.replaceAll(/ +/g, ' ').includes(`\naddress: ${url}\n`), pool.stdout);
  assert.match(pool.stdout, /^last-failure: +create failed at \S+ with UNAVAILABLE: .*500/m);
  hear('a.none');
  const { stdout: cause } = await ask('explain a.none');
  assert.match(
    cause,
    /^there is neither .*\n {4}the audit log has no request for it.*\nchecked: cluster "a" was last/,
  );
  assert.match(cause, /; pool "acme": its storage answers with errors; /);
});

test('incident: something else answers in place of the vendor', async t => {
  const { pools, answer } = await startVendor(t);
  const { gateway, walk, ask, metric } = await startIncident(t, { pools });
  answer(response => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<h1>Log in</h1>');
  });
  await assert.rejects(gateway.create('a.one'), { code: 'UNAVAILABLE' });
  assert.equal(await metric('fairlead_gateway_pool_outage{pool="acme",outage="foreign"}'), 1);
  assert.equal(await metric('fairlead_gateway_pool_answers{pool="acme"}'), 0);
  const { stdout } = await walk('FairleadPoolSilent', 'status');
  const how = 'its storage answers with something else than the Storage API; failing since ';
  assert.ok(stdout.includes(`! pool acme: ${how}`), stdout);
  assert.match((await ask('get pools')).stdout, /^acme +rest +open +foreign /m);
});

test('a pool that still waits shows its backend, its address, and since when and why it waits', async t => {
  const gone = await startStorageApi(t, [{ status: 200 }]);
  await gone.close();
  const pools = { fast: { backend: 'memory' }, acme: { backend: 'rest', url: gone.url } };
  const { ask, walk, until } = await startIncident(t, { pools });
  await until(/last tried at/);
  const { stdout } = await ask('status');
  assert.match(
    stdout,
    /! pool acme: it has not .*: .* refuses connections.*; failing since \S+; last tried at \S+\n/,
  );
  assert.ok(stdout.includes(`waiting, rest at ${gone.url}, 0 volumes`), stdout);
  const command = 'describe pool acme';
  const { stdout: pool } = await walk('FairleadPoolUnreached', command, 'describe pool POOL');
  assert.match(pool, /^backend: +rest$/m);
  assert.ok(pool.replaceAll(/ +/g, ' ').includes(`\naddress: ${gone.url}\n`), pool);
  assert.match(pool, /^answers: +no$/m);
  assert.match(pool, /^failing-since: +\S+Z$/m);
  assert.match(pool, /^last-failure: +open failed at \S+ with UNAVAILABLE: .*refuses connections/m);
});

test('a create that waits for a slot at its pool is explained, and is in the audit log if it waits longer than its caller', async t => {
  const hanging = Promise.withResolvers<never>();
  const own = { attach: () => hanging.promise };
  const pools = { fast: { backend: 'own', concurrency: { min: 1, max: 1 } } };
  const { gateway, until } = await startIncident(t, { own, pools });
  const { client } = gateway;
  await gateway.create('a.one');
  await client.putNode({ nodeId: 'n1', body: {} }, callWithin());
  const body = { capability: mounted, readonly: false };
  const attaching = client
    .attachVolume({ volumeId: 'a.one', nodeId: 'n1', body }, callWithin())
    .catch(() => {});
  await until(/^volume\/a\.one +attach /m, 'get operations');
  const creating = gateway.create('a.three');
  await until(
    /^there is neither .*\ncreate of "a\.three" has been waiting \d+s for a slot of cluster "a" at pool "fast"; 1 run\n.*\n$/,
    'explain a.three',
  );
  const spec = volumeSpec('two', { requiredBytes: 2 ** 20 });
  const late = { deadlineMs: Date.now() + 3_000 };
  await assert.rejects(client.createVolume({ volumeId: 'a.two', body: spec }, late));
  await setTimeout(late.deadlineMs - Date.now() + 10);
  hanging.reject(new Error('the test ended'));
  await attaching;
  await creating;
  await until(
    /create +a\.two +fast +DEADLINE_EXCEEDED .*pool "fast" had no free slot before the caller's deadline/,
    'get audit-log',
  );
});
