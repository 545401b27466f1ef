import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Problem } from '../../../../src/api/problem.ts';
import type { Quota } from '../../../../gateway/callers/cluster.ts';
import { readUsage } from '../../../../gateway/tables/reservations.ts';
import type { Backend } from '../../../../gateway/backend.ts';
import { assertCounted } from '../../../harness/gateway/fixtures.ts';
import { clusters, openGateway, openMemory, volumeSpec, type Gateway } from '../../../harness/gateway.ts';
import type { FaultyBackend } from '../../../fakes/faulty-backend.ts';

const mebibyte = 2 ** 20;

const withQuota = (quota: Quota) => ({ ...clusters.a, quota });

/** Opens a gateway with the volume `a.one` of 1 MiB and its snapshot `a.cut` of a block. */
async function openUsed(t: TestContext): Promise<Gateway<FaultyBackend>> {
  const gateway = await openGateway(t, { volumes: ['one'] });
  await gateway.snapshot('a.cut', 'a.one');
  return gateway;
}

type Ask = (gateway: Gateway, quota: Quota) => Promise<unknown>;

const ofOne = { kind: 'volume', volumeId: 'a.one' } as const;
const ofCut = { kind: 'snapshot', snapshotId: 'a.cut' } as const;
const create =
  (name: string, source?: typeof ofOne | typeof ofCut): Ask =>
  ({ volumes }, quota) =>
    volumes.create(withQuota(quota), `a.${name}`, volumeSpec(name, source && { source }));
const expand: Ask = ({ changes }, quota) =>
  changes.expand(withQuota(quota), 'a.one', { requiredBytes: 2 * mebibyte });
const snapshot: Ask = ({ snapshots }, quota) =>
  snapshots.create(withQuota(quota), 'a.again', { name: 'again', volumeId: 'a.one' });
const group: Ask = ({ groups }, quota) =>
  groups.create(withQuota(quota), 'a.both', { name: 'both', volumeIds: ['a.one'] });

/** Requests, a quota that each exceeds, a quota that it just meets, and the exceeded quota's path. */
const asked: readonly (readonly [what: string, ask: Ask, tight: Quota, wide: Quota, path: string])[] = [
  ['a volume', create('two'), { volumes: 1 }, { volumes: 2 }, 'volumes'],
  ['its bytes', create('two'), { bytes: 2 * mebibyte - 1 }, { bytes: 2 * mebibyte }, 'bytes'],
  ['a clone', create('two', ofOne), { volumes: 1 }, { volumes: 2 }, 'volumes'],
  ['a restored volume', create('two', ofCut), { bytes: mebibyte }, { bytes: 2 * mebibyte }, 'bytes'],
  ['an expansion', expand, { bytes: mebibyte }, { bytes: 2 * mebibyte, volumes: 1 }, 'bytes'],
  ['a snapshot', snapshot, { snapshots: 1 }, { snapshots: 2, volumes: 1 }, 'snapshots'],
  ['a group', group, { snapshots: 1 }, { snapshots: 2 }, 'snapshots'],
  [
    'a volume in its pool',
    create('two'),
    { pools: { main: { volumes: 1 } } },
    { pools: { main: { volumes: 2 }, other: { volumes: 0 } } },
    'pools.main.volumes',
  ],
];
for (const [what, ask, tight, wide, path] of asked)
  test(`${what} beyond the quota is RESOURCE_EXHAUSTED with the quota's name, and the backend is not called`, async t => {
    const gateway = await openUsed(t);
    const before = gateway.backend.calls.length;
    const naming = new RegExp(`^the quota "${path}" of cluster "a" is \\d+: \\d+ are in use, and \\d+ more`);
    await assert.rejects(ask(gateway, tight), { code: 'RESOURCE_EXHAUSTED', detail: naming });
    assert.equal(gateway.backend.calls.length, before);
    await ask(gateway, wide);
  });

test('only one of several concurrent creates at the limit wins, and another cluster is not delayed', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  const replica = await gateway.replica();
  const limited = withQuota({ volumes: 2 });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 10 }, (_, at) =>
      (at % 2 === 0 ? gateway : replica).volumes.create(limited, `a.v${at}`, volumeSpec(`v${at}`)),
    ),
  );
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') {
      assert.equal((outcome.reason as Problem).code, 'RESOURCE_EXHAUSTED');
      assert.match(String(outcome.reason), /"volumes"/);
    }
  await gateway.create('b.own');
});

test('a quota over all pools holds for concurrent creates in several pools', async t => {
  const pools = { one: await openMemory(), two: await openMemory() };
  const gateway = await openGateway<Backend>(t, { pools });
  const replica = await gateway.replica({ pools });
  const limited = withQuota({ bytes: 4 * mebibyte });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 12 }, (_, at) => {
      const spec = volumeSpec(`v${at}`, { parameters: { pool: at % 2 === 0 ? 'one' : 'two' } });
      return (at % 3 === 0 ? gateway : replica).volumes.create(limited, `a.v${at}`, spec);
    }),
  );
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 4);
});

test('the space of deleted objects is free again, and repeating a create needs nothing more', async t => {
  const gateway = await openUsed(t);
  const full = withQuota({ volumes: 1, snapshots: 1 });
  const { created } = await gateway.volumes.create(full, 'a.one', volumeSpec('one'));
  assert.equal(created, false);
  await gateway.volumes.delete(full, 'a.one');
  await gateway.volumes.create(full, 'a.two', volumeSpec('two'));
});

test('GetCapacity reports no more than the quota leaves, in one pool and in all', async t => {
  const gateway = await openUsed(t);
  const find = async (quota: Quota) => (await gateway.capacities.find(withQuota(quota), {})).availableBytes;
  const has = 2 ** 40 - mebibyte;
  assert.equal(await find({}), has);
  assert.equal(await find({ bytes: 3 * mebibyte }), 2 * mebibyte);
  assert.equal(await find({ bytes: 2 ** 50, pools: { main: { bytes: mebibyte } } }), 0);
  assert.equal(await find({ volumes: 1 }), 0);
  assert.equal(await find({ volumes: 2, snapshots: 0 }), has);
  const { maximumVolumeBytes } = await gateway.capacities.find(withQuota({ bytes: 5 * mebibyte }), {});
  assert.equal(maximumVolumeBytes, 4 * mebibyte);
});

test('the count equals the records after creations, failures and removals', async t => {
  const gateway = await openUsed(t);
  const { engine, groups, volumes } = gateway;
  await groups.create(clusters.a, 'a.both', { name: 'both', volumeIds: ['a.one'] });
  await volumes.create(clusters.a, 'a.two', volumeSpec('two', { source: ofOne }));
  await groups.delete(clusters.a, 'a.both');
  await volumes.delete(clusters.a, 'a.two');
  await assertCounted(engine);
  assert.deepEqual(await readUsage(engine.reader, 'a'), [
    { pool: 'main', volumes: 1, snapshots: 1, bytes: mebibyte, deletedBytes: 0, deletedVolumes: 0 },
  ]);
});
