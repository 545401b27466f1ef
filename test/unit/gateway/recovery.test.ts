import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import * as z from 'zod';
import { poll } from '../../../src/lib/concurrency.ts';
import type { FaultyBackend, Method } from '../../fakes/faulty-backend.ts';
import { clusters, endClaims, openGateway, volumeSpec, type Gateway } from '../../harness/gateway.ts';
import { snapshotsIn, volumesIn } from '../../harness/gateway/fixtures.ts';

const create = (gateway: Gateway) => gateway.create('a.pvc-1');
const attachOne = (gateway: Gateway) => gateway.attach('a.pvc-1');

type Ask = (gateway: Gateway) => Promise<unknown>;
type Crash = {
  readonly method: Method;
  readonly before: readonly Ask[];
  readonly run: Ask;
  /** The volume's state and its attachments once the work was finished. */
  readonly end: readonly string[];
};

const crashes: readonly Crash[] = [
  { method: 'create', before: [], run: create, end: ['ready'] },
  {
    method: 'delete',
    before: [create],
    run: ({ volumes }) => volumes.delete(clusters.a, 'a.pvc-1'),
    end: [],
  },
  { method: 'attach', before: [create], run: attachOne, end: ['ready', 'n1 attached'] },
  {
    method: 'detach',
    before: [create, attachOne],
    run: ({ detach }) => detach('a.pvc-1'),
    end: ['ready'],
  },
];

for (const crash of crashes) {
  test(`the next start takes over from a gateway that dies in ${crash.method}`, async t => {
    const next = await crashIn(t, crash);
    assert.equal(await next.recovery.sweep(), 0);
    await endClaims(next);
    assert.equal(await next.recovery.sweep(), 1);
    await assertFinished(next, crash);
    assert.equal(await next.recovery.sweep(), 0);
    assert.ok((await volumesIn(next.backend)).length <= 1);
  });

  test(`the next equal call takes over from a gateway that dies in ${crash.method}, once its claim has ended`, async t => {
    const next = await crashIn(t, crash);
    await assert.rejects(crash.run(next), { code: 'ABORTED' });
    await endClaims(next);
    await crash.run(next);
    await assertFinished(next, crash);
  });
}

test('a gateway that dies before it recorded an intent has changed nothing', async t => {
  const dying = await openGateway(t);
  const attempt = create(dying);
  await dying.engine.close();
  await attempt.catch(() => undefined);
  const next = await dying.replica();
  await endClaims(next);
  await next.recovery.sweep();
  await create(next);
  assert.deepEqual(await volumesIn(next.backend), ['a.pvc-1']);
});

test('the claim of a gateway that died before it began does not last forever', async t => {
  const isDying = { value: false };
  const dying = await openGateway(t, {
    keepDeletedMs: 3_600_000,
    checkpoint: ({ point }) => assert.ok(!isDying.value || point !== 'after-intent', 'dies (injected)'),
  });
  await create(dying);
  isDying.value = true;
  await assert.rejects(dying.volumes.delete(clusters.a, 'a.pvc-1'));
  const next = await dying.replica();
  await next.recovery.sweep();
  assert.ok((await claimedUntil(next)) > 0);
  await endClaims(next);
  await next.recovery.sweep();
  assert.deepEqual(await next.engine.reader.all('select * from claims'), []);
});

test('a claim holds as long as the storage works', async t => {
  const slow = await openGateway(t, { leaseMs: 3_000 });
  const other = await slow.replica();
  const { backend } = slow;
  const release = backend.hold('create');
  const creating = create(slow);
  await backend.entered('create');
  const firstMs = await claimedUntil(slow);
  const renewed = async () => (await claimedUntil(slow)) > firstMs || undefined;
  await poll(renewed, { everyMs: 20, timeoutMs: 60_000 });
  await assert.rejects(create(other), { code: 'ABORTED' });
  assert.equal(await other.recovery.sweep(), 0);
  release();
  await creating;
  await create(other);
  assert.deepEqual(backend.calls, ['create a.pvc-1']);
});

test('a gateway whose claim was taken over records nothing and reports no success', async t => {
  const stalled = await openGateway(t);
  const release = stalled.backend.hold('create');
  const creating = create(stalled);
  await stalled.backend.entered('create');
  await stalled.engine.transaction(sql => sql.run("update claims set owner = 'another'"));
  release();
  await assert.rejects(creating, { code: 'ABORTED' });
  assert.equal((await stalled.volumes.get(clusters.a, 'a.pvc-1')).state, 'creating');
});

test('work that newer settings refuse is undone, and nothing of it is left', async t => {
  const raw = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;
  const old = await openGateway(t);
  const { backend } = old;
  const next = await old.replica({ backend: { ...backend, accessTypes: ['mount'] } });
  const spec = volumeSpec('pvc-1', { capabilities: [raw] });
  await old.volumes.create(clusters.a, 'a.kept', { ...spec, name: 'kept' });
  backend.failNext('attach', 'after', new Error('unreachable'));
  await assert.rejects(old.attach('a.kept', 'n1', { capability: raw }));
  backend.failNext('create', 'after', new Error('unreachable'));
  await assert.rejects(old.volumes.create(clusters.a, 'a.pvc-1', spec));
  await next.recovery.sweep();
  assert.equal(await next.recovery.sweep(), 0);
  await assert.rejects(next.volumes.get(clusters.a, 'a.pvc-1'), { code: 'NOT_FOUND' });
  assert.deepEqual((await next.volumes.get(clusters.a, 'a.kept')).attachments, []);
  assert.deepEqual(await volumesIn(backend), ['a.kept']);
});

test('snapshots and groups that newer settings refuse are undone, and no longer block their volume', async t => {
  const old = await openGateway(t);
  const { backend } = old;
  const { snapshots } = backend;
  assert.ok(snapshots);
  const parameters = z.strictObject({ tier: z.string() });
  const next = await old.replica({ backend: { ...backend, snapshots: { ...snapshots, parameters } } });
  await create(old);
  backend.failNext('snapshot', 'after', new Error('unreachable'));
  const cut = old.snapshot('a.cut', 'a.pvc-1');
  await assert.rejects(cut, { code: 'UNAVAILABLE' });
  backend.failNext('group', 'after', new Error('unreachable'));
  const both = old.groups.create(clusters.a, 'a.both', { name: 'both', volumeIds: ['a.pvc-1'] });
  await assert.rejects(both, { code: 'UNAVAILABLE' });
  await next.recovery.sweep();
  assert.equal(await next.recovery.sweep(), 0);
  assert.deepEqual(await snapshotsIn(backend), []);
  await next.volumes.delete(clusters.a, 'a.pvc-1');
});

test('failed work is retried, and one failure delays no other', async t => {
  const gateway = await openGateway(t);
  const { backend } = gateway;
  for (const name of ['one', 'two', 'three']) {
    backend.failNext('create', 'before', new Error('unreachable'));
    await assert.rejects(gateway.create(`a.${name}`));
  }
  backend.failNext('create', 'before', new Error('unreachable'));
  assert.equal(await gateway.recovery.sweep(), 3);
  const { volumes } = await gateway.volumes.list(clusters.a, { limit: 10 });
  assert.equal(volumes.filter(({ state }) => state === 'ready').length, 2);
  assert.equal(await gateway.recovery.sweep(), 1);
  assert.equal(await gateway.recovery.sweep(), 0);
});

test('a volume that was finished and made anew while a sweep was busy is left alone', async t => {
  const gateway = await openGateway(t);
  const { backend } = gateway;
  const names = ['one', 'two', 'three', 'four', 'zlast'];
  for (const name of names) {
    await gateway.create(`a.${name}`);
    backend.failNext('delete', name === 'zlast' ? 'after' : 'before', new Error('unreachable'));
    await assert.rejects(gateway.volumes.delete(clusters.a, `a.${name}`));
  }
  const release = backend.hold('delete');
  const sweeping = gateway.recovery.sweep();
  await backend.entered('delete');
  // The storage works on the first four for a long time; meanwhile the last one is deleted and created again.
  await gateway.engine.transaction(sql => sql.run("delete from volumes where id = 'a.zlast'"));
  await gateway.create('a.zlast');
  release();
  await sweeping;
  assert.equal((await gateway.volumes.get(clusters.a, 'a.zlast')).state, 'ready');
});

test('a volume that was made anew while a sweep was about to finish its predecessor is not undone', async t => {
  const old = await openGateway(t);
  const { backend } = old;
  backend.failNext('create', 'before', new Error('unreachable'));
  await assert.rejects(create(old));
  let isFirst = true;
  // The sweep has read the record, and asks this before it continues.
  const capacity = async () => {
    if (!isFirst) return { totalBytes: 2 ** 30 };
    isFirst = false;
    await old.volumes.delete(clusters.a, 'a.pvc-1');
    await old.volumes.create(clusters.a, 'a.pvc-1', volumeSpec('other'));
    return { totalBytes: 2 ** 30 };
  };
  const next = await old.replica({ backend: { ...backend, capacity } });
  assert.equal(await next.recovery.sweep(), 1);
  assert.equal((await next.volumes.get(clusters.a, 'a.pvc-1')).name, 'other');
});

/** Returns the end of the only claim in the store, in milliseconds since the epoch. */
async function claimedUntil({ engine }: Gateway): Promise<number> {
  const [row] = await engine.reader.all('select until_ms from claims');
  return Number(row?.['until_ms']);
}

/** Makes a gateway that dies while the storage works: the storage finishes, and no gateway records the outcome. */
async function crashIn(t: TestContext, crash: Crash): Promise<Gateway<FaultyBackend>> {
  const dying = await openGateway(t);
  const { backend } = dying;
  for (const step of crash.before) await step(dying);
  const release = backend.hold(crash.method);
  const lost = assert.rejects(crash.run(dying), { code: 'UNAVAILABLE' });
  await backend.entered(crash.method);
  await dying.engine.close();
  release();
  await lost;
  return dying.replica();
}

async function assertFinished({ volumes }: Gateway, { end }: Crash): Promise<void> {
  const {
    volumes: [volume],
  } = await volumes.list(clusters.a, { limit: 9 });
  const attached = volume?.attachments.map(({ nodeId, state }) => `${nodeId} ${state}`) ?? [];
  assert.deepEqual(volume ? [volume.state, ...attached] : [], end);
}
