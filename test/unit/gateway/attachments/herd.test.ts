import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unavailableProblem } from '../../../../src/api/problem.ts';
import { pause, poll } from '../../../../src/lib/concurrency.ts';
import { wrapBackend } from '../../../fakes/faulty-backend/wrap.ts';
import { openGateway, mounted, openMemory, volumeSpec } from '../../../harness/gateway.ts';

/** The length of a second of Retry-After in this test, in milliseconds. */
const secondMs = 10;
const perSecond = 20;
const herd = Array.from({ length: 500 }, (_, index) => index);

test('500 attaches and then 500 detaches finish on a storage that accepts 20 a second, and another cluster is not refused', async t => {
  const { inner, refused } = await openLimited();
  const { ask } = await openGateway(t, { backend: inner });
  const told = { to: 0 };
  for (const index of herd)
    await ask(`PUT /v1/volumes/any.v${index}`, { as: 'any', body: volumeSpec(`v${index}`) });
  // Repeats the request as sidecars do: after each failure that is not final, and not before the gateway's Retry-After.
  // Requests of a test that has failed would go on for ever.
  const over = new AbortController();
  t.after(() => over.abort());
  const insist = async (route: string, body?: object): Promise<void> => {
    for (let seconds = 1; !over.signal.aborted; seconds = Math.min(2 * seconds, 32)) {
      const { status, headers, body: answer } = await ask(route, { as: 'any', body });
      // On a busy machine an earlier request may last longer than its caller waits.
      const isInProgress = status === 202 || answer['code'] === 'ABORTED';
      if (status < 300 && !isInProgress) return;
      if (!isInProgress) {
        assert.equal(answer['code'], 'UNAVAILABLE');
        assert.equal(status, headers.has('retry-after') ? 429 : 503);
        if (headers.has('retry-after')) told.to++;
      }
      await pause(Math.max(Number(headers.get('retry-after')), seconds) * secondMs);
    }
  };
  const attached = async (): Promise<number> => {
    const { body } = await ask('GET /v1/volumes', { as: 'any' });
    const volumes = body['volumes'] as readonly { readonly attachments: readonly unknown[] }[];
    return volumes.filter(({ attachments }) => attachments.length > 0).length;
  };
  const beside = async (work: Promise<unknown>): Promise<void> => {
    const quiet = await ask('PUT /v1/volumes/b.quiet', { as: 'b', body: volumeSpec('quiet') });
    assert.ok(quiet.status < 300);
    await work;
  };
  const use = { capability: mounted, readonly: false };
  await beside(Promise.all(herd.map(n => insist(`PUT /v1/volumes/any.v${n}/attachments/n${n % 5}`, use))));
  assert.equal(await attached(), herd.length);
  await beside(Promise.all(herd.map(n => insist(`DELETE /v1/volumes/any.v${n}/attachments/n${n % 5}`))));
  assert.equal(await attached(), 0);
  assert.ok(told.to > 0 && refused() > 0, 'both the gateway and the storage said when it was too much');
});

test('creates of one cluster begin at once while 500 endless creates of another one are under way', async t => {
  const { ask, backend, operations } = await openGateway(t);
  const release = backend.hold('create');
  const headers = { prefer: 'wait=0' };
  const create = (as: string, name: string) =>
    ask(`PUT /v1/volumes/${as}.${name}`, { as, body: volumeSpec(name), headers });
  for (const n of herd) assert.equal((await create('a', `v${n}`)).status, 202);
  for (const name of ['one', 'two', 'three', 'four']) assert.equal((await create('b', name)).status, 202);
  const begun = (cluster: string): number =>
    backend.calls.filter(call => call.startsWith(`create ${cluster}.`)).length;
  await poll(() => begun('b') === 4 || undefined, { everyMs: 10, timeoutMs: 10_000 });
  assert.deepEqual([begun('a'), begun('b')], [12, 4]);
  release();
  await operations.idle();
  assert.deepEqual([begun('a'), begun('b')], [herd.length, 4]);
});

/** Opens a storage in memory that accepts a number of calls and then refuses the same number, which ends its second. */
async function openLimited() {
  const count = { calls: 0, refused: 0 };
  const inner = wrapBackend(await openMemory(), {
    async call({ target }, run) {
      if (target !== 'attach' && target !== 'detach') return run();
      if (count.calls++ % (2 * perSecond) < perSecond) return run();
      count.refused++;
      throw unavailableProblem('too many requests');
    },
    stream: (_called, run) => run(),
  });
  return { inner, refused: () => count.refused };
}
