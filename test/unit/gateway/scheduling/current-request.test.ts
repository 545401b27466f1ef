import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { currentRequest, type CurrentRequest } from '../../../../gateway/scheduling/current-request.ts';
import { readTraceparent } from '../../../../src/tracing/trace.ts';
import { clusters, openGateway, openMemory, volumeSpec } from '../../../harness/gateway.ts';

const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

/** Makes a gateway whose backend records the request of each call, by the volume's id. */
async function makeWatched(t: TestContext) {
  const seen = new Map<string, CurrentRequest | undefined>();
  const inner = await openMemory();
  const backend: typeof inner = {
    ...inner,
    async create(volume) {
      const created = await inner.create(volume);
      seen.set(volume.id, currentRequest());
      return created;
    },
  };
  return { ...(await openGateway(t, { backend })), seen };
}

test('concurrent requests are told apart wherever they are', async t => {
  const { ask, seen } = await makeWatched(t);
  const names = ['one', 'two', 'three'];
  await Promise.all(
    names.flatMap(name =>
      (['a', 'b'] as const).map(as => {
        const headers = { 'x-request-id': `${as}-${name}`, traceparent };
        return ask(`PUT /v1/volumes/${as}.${name}`, { as, body: volumeSpec(name), headers });
      }),
    ),
  );
  assert.equal(seen.size, 2 * names.length);
  for (const [id, request] of seen)
    assert.partialDeepStrictEqual(request, {
      requestId: id.replace('.', '-'),
      caller: { cluster: id.startsWith('a') ? clusters.a : clusters.b },
      traceparent,
    });
  assert.equal(currentRequest(), undefined);
});

test("an invalid traceparent begins a trace, and the gateway's own work is no request", async t => {
  const { create, ask, seen } = await makeWatched(t);
  const headers = { traceparent: traceparent.toUpperCase() };
  await ask('PUT /v1/volumes/a.one', { body: volumeSpec('one'), headers });
  const begun = seen.get('a.one')?.traceparent ?? '';
  assert.equal(readTraceparent(begun), begun);
  assert.ok(!begun.includes('a'.repeat(32)));
  assert.ok(seen.get('a.one')?.requestId);
  await create('a.two');
  assert.ok(seen.has('a.two'));
  assert.equal(seen.get('a.two'), undefined);
});

test('a request whose caller disconnected is distinguished from a waiting one', async t => {
  const { ask, seen } = await makeWatched(t);
  const [waits, leaves] = [new AbortController(), new AbortController()];
  await ask('PUT /v1/volumes/a.one', { body: volumeSpec('one'), signal: waits.signal });
  await ask('PUT /v1/volumes/a.two', { body: volumeSpec('two'), signal: leaves.signal });
  leaves.abort();
  assert.deepEqual(
    [...seen].map(([id, request]) => [id, request?.isGone()]),
    [
      ['a.one', false],
      ['a.two', true],
    ],
  );
});
