import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Backend } from '../../../../gateway/backend.ts';
import { createMetrics } from '../../../../gateway/observability/metrics.ts';
import { observeBackend, observeQueues } from '../../../../gateway/observability/observe.ts';
import { readCallers, readQueues } from '../../../../gateway/observability/state.ts';
import { createQueues } from '../../../../gateway/scheduling/queues.ts';
import type { Reader } from '../../../../gateway/store.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { readRows, renderMetrics } from '../../../../src/lib/metrics.ts';
import { openGateway, openMemory } from '../../../harness/gateway.ts';

const canary = 'canary-5ecret';

/** Returns the samples of the metrics with this prefix. */
function samplesOf(text: string, name: string): readonly string[] {
  return text.split('\n').filter(line => line.startsWith(name));
}

test('calls of a backend and of its parts are counted by method and code, and nothing else of them is exported', async () => {
  const metrics = createMetrics();
  const inner = await openMemory();
  const failing: Backend = {
    ...inner,
    delete: () => Promise.reject(new Problem('FAILED_PRECONDITION', canary)),
    detach: () => Promise.reject(new Error(canary)),
  };
  const backend = observeBackend(failing, metrics.observeBackend('fast'));
  await backend.capacity?.();
  await backend.snapshots?.delete({ id: canary });
  await assert.rejects(backend.delete({ id: canary }));
  await assert.rejects(backend.detach({ id: canary }, 'n1'));
  const text = renderMetrics(metrics.show());
  assert.deepEqual(samplesOf(text, 'fairlead_gateway_backend_calls_total'), [
    'fairlead_gateway_backend_calls_total{pool="fast",method="capacity",code="OK"} 1',
    'fairlead_gateway_backend_calls_total{pool="fast",method="snapshots.delete",code="OK"} 1',
    'fairlead_gateway_backend_calls_total{pool="fast",method="delete",code="FAILED_PRECONDITION"} 1',
    'fairlead_gateway_backend_calls_total{pool="fast",method="detach",code="UNAVAILABLE"} 1',
  ]);
  assert.ok(!text.includes(canary));
});

test('an observed backend offers its current members, even if they change', async () => {
  const inner: { -readonly [K in keyof Backend]: Backend[K] } = { ...(await openMemory()) };
  const backend = observeBackend(inner, createMetrics().observeBackend('fast'));
  assert.equal(backend.expand, backend.expand);
  assert.ok(backend.expand && backend.snapshots && backend.name === inner.name);
  delete inner.expand;
  delete inner.snapshots;
  assert.equal(backend.expand, undefined);
  assert.equal(backend.snapshots, undefined);
  assert.deepEqual(Object.keys(backend), Object.keys(inner));
});

test('callers that wait for a slot at a pool are shown, and their waiting time is counted', async () => {
  const metrics = createMetrics();
  const bounds = { min: 1, max: 1 };
  const queues = observeQueues(
    createQueues(() => bounds),
    metrics.startWait,
  );
  const request = { pool: 'fast', cluster: 'a', operation: 'create', resource: 'volume/a.one' };
  const first = queues.enter(request);
  assert.ok(first);
  const waiting = queues.wait({ ...request, cluster: 'b' }, () => undefined);
  const show = (): readonly string[] =>
    samplesOf(renderMetrics(readRows(readQueues(queues))), 'fairlead_gateway_queue');
  assert.partialDeepStrictEqual(show(), [
    'fairlead_gateway_queue_waiting{pool="fast",cluster="a"} 0',
    'fairlead_gateway_queue_waiting{pool="fast",cluster="b"} 1',
    'fairlead_gateway_queue_running{pool="fast",cluster="a"} 1',
    'fairlead_gateway_queue_running{pool="fast",cluster="b"} 0',
    'fairlead_gateway_queue_limit{pool="fast"} 1',
  ]);
  first[Symbol.dispose]();
  (await waiting)[Symbol.dispose]();
  const text = renderMetrics(metrics.show());
  assert.ok(text.includes('fairlead_gateway_queue_wait_seconds_count{pool="fast"} 1'));
});

test('the faults of keys leave out retired clusters, unless the store does not answer', async t => {
  const gateway = await openGateway(t);
  const faults = ['a', 'operator'].map(cluster => ({ cluster, detail: 'has no keys' }));
  const count = async (reader: Reader): Promise<unknown> => {
    const rows = await readCallers(reader, { keyFaults: () => faults, silentMs: () => new Map() });
    return rows.find(([name]) => name === 'fairlead_gateway_key_faults')?.[2];
  };
  assert.equal(await count(gateway.engine.reader), 2);
  await gateway.ask('PUT /v1/admin/clusters/a/retirement', { as: 'operator', body: { force: true } });
  assert.equal(await count(gateway.engine.reader), 1);
  assert.equal(await count({ all: () => Promise.reject(new Error('the store is down')) }), 2);
});
