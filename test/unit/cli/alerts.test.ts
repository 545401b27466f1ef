import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { storeSetting } from '../../../gateway/config.ts';
import { openStore } from '../../../gateway/stores/index.ts';
import { Problem } from '../../../src/api/problem.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { json, startStorageApi } from '../../fakes/storage-api.ts';
import { startIncident } from '../../harness/cli/incident.ts';
import { callWithin } from '../../harness/gateway/program.ts';
import { mounted } from '../../harness/gateway.ts';

test('alerts FairleadPoolFails and FairleadRequestsFail: a storage answers, but its calls fail', async t => {
  const failing = new Problem('INTERNAL', 'the array has no quorum');
  const own = { create: () => Promise.reject(failing) };
  const { gateway, walk, metric, hear } = await startIncident(t, { own });
  for (const name of ['one', 'two', 'three'])
    await assert.rejects(gateway.create(`a.${name}`), { code: 'INTERNAL' });
  assert.equal(await metric('fairlead_gateway_pool_answers{pool="fast"}'), 1);
  const ofCalls = '{pool="fast",method="create",code="INTERNAL"}';
  assert.equal(await metric(`fairlead_gateway_backend_calls_total${ofCalls}`), 3);
  const ofRequests = '{operation="createVolume",code="INTERNAL"}';
  assert.equal(await metric(`fairlead_gateway_requests_total${ofRequests}`), 3);
  const { status, stdout } = await walk('FairleadPoolFails', 'status');
  assert.equal(status, 1);
  assert.match(
    stdout,
    /! pool fast: its storage fails; 3 of 6 calls failed in the last 5 minutes; create failed at \S+ with INTERNAL: the array has no quorum \(request [\w-]+\)\n {4}check the storage; .* fairlead describe pool fast\n/,
  );
  const pool = await walk('FairleadPoolFails', 'describe pool fast', 'describe pool POOL');
  assert.match(pool.stdout, /^failed-calls: +3\/6 in 5m$/m);
  hear('a.one');
  const { stdout: cause } = await walk('FairleadRequestsFail', 'explain a.one', 'explain ID');
  assert.match(
    cause,
    /pool "fast": its storage fails; 3 of 6 calls failed .* with INTERNAL: the array has no quorum/,
  );
});

test('alert FairleadPoolUnreached: a storage has not answered since the start', async t => {
  const gone = await startStorageApi(t, [json(200, {})]);
  await gone.close();
  const pools = { fast: { backend: 'memory' }, acme: { backend: 'rest', url: gone.url } };
  const { gateway, walk, metric } = await startIncident(t, { pools });
  await gateway.create('a.one').catch(() => undefined);
  for (const [pool, isReached] of [
    ['fast', 1],
    ['acme', 0],
  ] as const)
    assert.equal(await metric(`fairlead_gateway_pool_reached{pool="${pool}"}`), isReached);
  const { status, stdout } = await walk('FairleadPoolUnreached', 'status');
  assert.equal(status, 1);
  assert.match(
    stdout,
    /! pool acme: it has not been opened since the gateway started: .*\n {4}check the storage, and pools\.acme/,
  );
});

test('alert FairleadStoreDown: the file of the store is gone', async t => {
  const { gateway, walk, untilMetric } = await startIncident(t);
  const path = join(gateway.directory, 'store.sqlite');
  renameSync(path, `${path}.moved`);
  await untilMetric('fairlead_gateway_store_up', 0);
  const { status, stdout } = await walk('FairleadStoreDown', 'status');
  assert.equal(status, 1);
  assert.match(stdout, /! store: does not answer, so every request is refused for now: .*removed, moved or/);
});

test('alert FairleadQueueLong: an operation waits for the only slot of a pool', async t => {
  const hanging = Promise.withResolvers<never>();
  const own = { create: () => hanging.promise };
  const pools = { fast: { backend: 'own', concurrency: { min: 1, max: 1 } } };
  const { gateway, walk, metric } = await startIncident(t, { own, pools });
  t.after(() => hanging.reject(new Error('the test ended')));
  const creating = ['one', 'two'].map(name => gateway.create(`a.${name}`).catch(() => undefined));
  const waits = async () => ((await metric('fairlead_gateway_queue_oldest_seconds')) ?? 0) > 0 || undefined;
  assert.ok(await poll(waits, { everyMs: 50, timeoutMs: 10_000 }));
  const { stdout } = await walk('FairleadQueueLong', 'get queues');
  assert.match(stdout, /^fast\/a +1 +1 +1 /m);
  hanging.reject(new Error('the test ended'));
  await Promise.all(creating);
});

test('alert FairleadRequestsSlow: a storage takes long to attach a volume', async t => {
  const slow = Promise.withResolvers<never>();
  const own = { attach: () => slow.promise };
  const { gateway, walk, metric, untilMetric } = await startIncident(t, { own });
  const { client } = gateway;
  await gateway.create('a.one');
  await client.putNode({ nodeId: 'n1', body: {} }, callWithin());
  const body = { capability: mounted, readonly: false };
  t.after(() => slow.reject(new Error('the test ended')));
  const attaching = client
    .attachVolume({ volumeId: 'a.one', nodeId: 'n1', body }, callWithin())
    .catch(() => {});
  await untilMetric('fairlead_gateway_claims{operation="attach"}', 1);
  const { stdout } = await walk('FairleadRequestsSlow', 'top');
  assert.match(stdout, /^volume\/a\.one +attach /m);
  await setTimeout(60);
  slow.reject(new Problem('FAILED_PRECONDITION', 'the test ended'));
  await attaching;
  const series = 'fairlead_gateway_request_duration_seconds';
  await untilMetric(`${series}_bucket{operation="attachVolume",le="+Inf"}`, 1);
  assert.equal(await metric(`${series}_bucket{operation="attachVolume",le="0.05"}`), 0);
});

test('alert FairleadClockOff: the clock is behind the time in the store', async t => {
  const first = await startIncident(t);
  await first.gateway.end();
  const engine = await openStore(storeSetting(first.gateway.store));
  await engine.transaction(sql =>
    sql.run("update clock set seen_ms = seen_ms + 900000 where name = 'gateway'"),
  );
  await engine.close();
  const { directory } = first.gateway;
  const { walk, metric, until } = await startIncident(t, { directory });
  await until(/clock +is wrong/);
  assert.ok(((await metric('fairlead_gateway_clock_skew_seconds')) ?? 0) < -60);
  const { status, stdout } = await walk('FairleadClockOff', 'status');
  assert.equal(status, 1);
  assert.match(
    stdout,
    /! clock: the clock of the gateway is \d+ s behind the store\n {4}synchronize the clocks of the gateways/,
  );
});
