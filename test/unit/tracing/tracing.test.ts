import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { loadCsi } from '../../../src/csi/protocol.ts';
import type { LogFields } from '../../../src/lib/log.ts';
import { createTracer } from '../../../src/tracing/otlp.ts';
import { makeIdentity } from '../../fakes/storages/far-gateway.ts';
import { createMemoryLog } from '../../harness/gateway.ts';
import { runGateway } from '../../harness/gateway/program.ts';
import { runController } from '../../harness/controller.ts';
import type { Flags } from '../../harness/program.ts';
import { startCollector } from './collector.ts';
import { clientOf } from '../../harness/csi-serving.ts';

const [trace, caller] = ['a'.repeat(32), 'b'.repeat(16)];
const create = {
  name: 'secretive',
  volume_capabilities: [{ block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } }],
};

/** Starts a controller, its gateway, and the gateway behind its only pool, which has the storage. */
async function startChain(t: TestContext, flags: Flags) {
  const { keys } = await makeIdentity(t, 'near');
  const far = await runGateway(t, { clusters: { near: { keys } } });
  const named = { 'gateway-name': 'near', 'key-file': join(dirname(keys), 'keys.json') };
  const near = await runGateway(t, {
    pools: { acme: { backend: 'rest', url: far.url, audience: 'fairlead' } },
    flags: { ...named, ...flags },
  });
  const controller = await runController(t, { gateway: near.url, ...flags });
  await controller.untilReady();
  return {
    endpoint: `unix://${controller.socketPath}`,
    lines: [controller, near, far].map(({ logLines }) => logLines),
    close: () => controller.close().then(() => near.end()),
  };
}

/** Creates a volume as a sidecar that records traces does. */
async function createAsSidecar(endpoint: string): Promise<void> {
  const client = new Client(endpoint, credentials.createInsecure());
  const { path, requestSerialize: write, responseDeserialize: read } = loadCsi().Controller.CreateVolume;
  const metadata = new Metadata();
  metadata.set('traceparent', `00-${trace}-${caller}-01`);
  await new Promise<void>((resolve, reject) => {
    const deadline = Date.now() + 30_000;
    client.makeUnaryRequest(path, write, read, create as never, metadata, { deadline }, error =>
      error ? reject(error) : resolve(),
    );
  }).finally(() => client.close());
}

/** Finds the only log line of a request and returns its fields. */
function lineOf(lines: readonly string[], what: string): LogFields {
  const found = lines.filter(line => line.startsWith('info answered') && line.includes(what));
  assert.equal(found.length, 1, lines.join('\n'));
  return JSON.parse(found[0]?.slice(found[0].indexOf('{')) ?? '') as LogFields;
}

test("a call is one trace from the sidecar to a pool's storage, and has the same ids in the log of each program", async t => {
  const collector = await startCollector(t);
  const chain = await startChain(t, { 'otlp-endpoint': collector.url });
  await createAsSidecar(chain.endpoint);
  const [controller = [], near = [], far = []] = chain.lines;
  const lines = [
    lineOf(controller, '"CreateVolume"'),
    lineOf(near, '"PUT /v1/volumes/a.secretive"'),
    lineOf(far, '"PUT /v1/volumes/near.'),
  ];
  assert.equal(new Set(lines.map(({ requestId }) => requestId)).size, 1);
  assert.deepEqual(
    lines.map(({ traceId }) => traceId),
    [trace, trace, trace],
  );
  await chain.close();
  const spans = collector.spans.filter(({ traceId }) => traceId === trace);
  let parent = caller;
  const path: string[] = [];
  for (let next = spans.find(one => one.parentSpanId === parent); next;) {
    path.push(`${next.service} ${next.kind} ${next.name}`);
    parent = next.spanId;
    next = spans.find(one => one.parentSpanId === parent);
  }
  assert.deepEqual(path, [
    'fairlead-controller 2 CreateVolume',
    'fairlead-controller 3 createVolume',
    'fairlead-gateway 2 createVolume',
    'fairlead-gateway 1 acme create',
  ]);
  const sent = collector.bodies.join('\n');
  assert.doesNotMatch(sent, /secretive|eyJ|Bearer/, 'a span carries a name, a code and times alone');
});

test('without a collector a trace continues all the same, and begins if the caller has none', async t => {
  const chain = await startChain(t, {});
  await createAsSidecar(chain.endpoint);
  await clientOf(t, chain.endpoint).controller.ListVolumes({});
  const [controller = [], near = [], far = []] = chain.lines;
  assert.equal(lineOf(far, '"PUT /v1/volumes/near.').traceId, trace);
  const begun = lineOf(controller, '"ListVolumes"').traceId;
  assert.match(begun ?? '', /^[0-9a-f]{32}$/);
  assert.equal(lineOf(near, '"GET /v1/volumes"').traceId, begun);
});

test('spans that cannot be sent are dropped, which is logged once', async t => {
  const collector = await startCollector(t, 400);
  const { log, lines } = createMemoryLog();
  const tracer = createTracer('gateway', collector.url, log);
  tracer.start('server', 'createVolume', undefined).end('OK');
  await tracer.close();
  assert.equal(collector.bodies.length, 1);
  assert.match(lines.join('\n'), /^warn cannot send spans [^\n]*$/);
});

test('a trace that its caller does not record is not recorded', async t => {
  const collector = await startCollector(t);
  const { log } = createMemoryLog();
  const tracer = createTracer('gateway', collector.url, log);
  const spans = ['00', '01'].map(flags => tracer.start('server', 'x', `00-${trace}-${caller}-${flags}`));
  for (const span of spans) span.end('NOT_FOUND');
  await tracer.close();
  assert.deepEqual(
    spans.map(({ traceparent = '' }) => [traceparent.slice(0, 36), traceparent.slice(-2)]),
    ['00', '01'].map(flags => [`00-${trace}-`, flags]),
  );
  assert.equal(collector.spans.length, 1);
  assert.partialDeepStrictEqual(collector.spans, [{ parentSpanId: caller, status: { code: 2 } }]);
});
