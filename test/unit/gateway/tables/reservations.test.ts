import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Problem } from '../../../../src/api/problem.ts';
import { clusters, openGateway, type Gateway } from '../../../harness/gateway.ts';
import { assertCounted } from '../../../harness/gateway/fixtures.ts';

const mebibyte = 2 ** 20;
const { a } = clusters;

const create = (gateway: Gateway, name: string, mebibytes: number) =>
  gateway.create(`a.${name}`, { requiredBytes: mebibytes * mebibyte });
const open = (t: TestContext) => openGateway(t, { capacity: 10 * mebibyte });

async function left({ capacities }: Gateway): Promise<number> {
  return (await capacities.find(a, {})).availableBytes / mebibyte;
}

function group({ groups }: Gateway, name: string): Promise<unknown> {
  return groups.create(a, `a.${name}`, { name, volumeIds: ['a.one'] });
}

function expand({ changes }: Gateway, mebibytes: number): Promise<unknown> {
  return changes.expand(a, 'a.one', { requiredBytes: mebibytes * mebibyte });
}

test('the space of volumes and snapshots is used until they are deleted', async t => {
  const gateway = await open(t);
  await create(gateway, 'one', 4);
  assert.equal(await left(gateway), 6);
  await expand(gateway, 5);
  await gateway.snapshot('a.cut', 'a.one');
  // The volume is empty, so the snapshot takes nothing.
  assert.equal(await left(gateway), 5);
  await group(gateway, 'both');
  await assertCounted(gateway.engine);
  await gateway.groups.delete(a, 'a.both');
  await gateway.snapshots.delete(a, 'a.cut');
  await gateway.volumes.delete(a, 'a.one');
  assert.equal(await left(gateway), 10);
  await assertCounted(gateway.engine);
});

test('only as many of concurrently requested volumes are made as fit, over all clusters', async t => {
  const gateway = await open(t);
  const outcomes = await Promise.allSettled(
    Array.from({ length: 20 }, (_, at) => {
      return gateway.create(`${at % 2 === 0 ? 'a' : 'b'}.v${at}`);
    }),
  );
  const refused = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason] : []));
  assert.equal(refused.length, 10);
  assert.ok(refused.every(({ code }) => code === 'RESOURCE_EXHAUSTED'));
  assert.equal(await left(gateway), 0);
  await assertCounted(gateway.engine);
});

const tooLarge: readonly (readonly [what: string, ask: (gateway: Gateway) => Promise<unknown>])[] = [
  ['a volume', gateway => create(gateway, 'two', 5)],
  ['an expansion', gateway => expand(gateway, 9.5)],
  ['a snapshot', gateway => gateway.snapshot('a.cut', 'a.one')],
  ['a group', gateway => group(gateway, 'both')],
];
for (const [what, ask] of tooLarge)
  test(`${what} that does not fit is RESOURCE_EXHAUSTED, and the backend is not called`, async t => {
    const gateway = await open(t);
    await create(gateway, 'one', 6);
    if (what === 'an expansion') await create(gateway, 'other', 1);
    gateway.backend.calls.length = 0;
    await assert.rejects(ask(gateway), { code: 'RESOURCE_EXHAUSTED' });
    assert.deepEqual(gateway.backend.calls, []);
    assert.equal(await gateway.recovery.sweep(), 0);
    await assertCounted(gateway.engine);
  });

test('a snapshot reserves the size that the storage reports, if it does', async t => {
  let bytes = 3 * mebibyte;
  const gateway = await openGateway(t, {
    capacity: 15 * mebibyte,
    own: ({ snapshots }) => ({ snapshots: { ...snapshots, measure: async () => bytes } }),
  });
  await create(gateway, 'one', 10);
  await gateway.snapshot('a.cut', 'a.one');
  await group(gateway, 'both');
  bytes = 6 * mebibyte;
  await assert.rejects(gateway.snapshot('a.more', 'a.one'), { code: 'RESOURCE_EXHAUSTED' });
  await assert.rejects(group(gateway, 'others'), { code: 'RESOURCE_EXHAUSTED' });
  await assertCounted(gateway.engine);
});

test('a volume that is larger than the pool is OUT_OF_RANGE, a snapshot RESOURCE_EXHAUSTED', async t => {
  await assert.rejects(create(await open(t), 'one', 11), { code: 'OUT_OF_RANGE' });
  let totalBytes = 15 * mebibyte;
  const gateway = await openGateway(t, { own: { capacity: async () => ({ totalBytes }) } });
  await create(gateway, 'one', 10);
  totalBytes = 5 * mebibyte;
  await assert.rejects(gateway.snapshot('a.cut', 'a.one'), { code: 'RESOURCE_EXHAUSTED' });
});

for (const moment of ['before', 'after'] as const)
  test(`a final failure ${moment} the storage acts takes no space, and possibly running work does`, async t => {
    const gateway = await open(t);
    const { backend, engine } = gateway;
    await create(gateway, 'one', 2);
    for (const method of ['create', 'expand', 'snapshot'] as const)
      backend.failNext(method, moment, new Problem('INTERNAL', 'broken'));
    await assert.rejects(create(gateway, 'two', 2), { code: 'INTERNAL' });
    await assert.rejects(expand(gateway, 5), { code: 'INTERNAL' });
    await assert.rejects(gateway.snapshot('a.cut', 'a.one'), { code: 'INTERNAL' });
    assert.equal(await left(gateway), 8);
    for (const method of ['create', 'expand'] as const)
      backend.failNext(method, moment, new Error('unreachable'));
    await assert.rejects(create(gateway, 'two', 2), { code: 'UNAVAILABLE' });
    await assert.rejects(expand(gateway, 5), { code: 'UNAVAILABLE' });
    assert.equal(await left(gateway), 3);
    await gateway.recovery.sweep();
    assert.equal(await left(gateway), 3);
    await assertCounted(engine);
  });
