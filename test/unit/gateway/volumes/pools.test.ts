import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Cluster } from '../../../../gateway/callers/cluster.ts';
import { createFaultyBackend, type FaultyBackend } from '../../../fakes/faulty-backend.ts';
import { clusters, openGateway, mounted, openMemory, volumeSpec } from '../../../harness/gateway.ts';

const { a } = clusters;
const mebibyte = 2 ** 20;
const inPool = (pool?: string) => (pool === undefined ? {} : { parameters: { pool } });

/**
 * Opens a gateway with the pools fast, which can do everything, and slow, which has no snapshots and reports no health.
 */
async function open(t: TestContext) {
  const fast = createFaultyBackend(await openMemory(100 * mebibyte));
  const { snapshots: _, volumeHealth: __, ...rest } = await openMemory(50 * mebibyte);
  const slow = createFaultyBackend(rest);
  return { ...(await openGateway<FaultyBackend>(t, { pools: { fast, slow } })), fast, slow };
}

test('a volume is in the pool that its parameters name, which its backend never sees', async t => {
  const { create, volumes, fast, slow } = await open(t);
  const { volume } = await create('a.one', inPool('slow'));
  assert.equal(volume.pool, 'slow');
  assert.deepEqual(volume.parameters, { pool: 'slow' });
  assert.deepEqual([fast.calls, slow.calls], [[], ['create a.one']]);
  assert.equal((await create('a.one', inPool('slow'))).created, false);
  await volumes.delete(a, 'a.one');
  assert.deepEqual(slow.calls, ['create a.one', 'delete a.one']);
});

const choices: readonly (readonly [
  what: string,
  pools: Cluster['pools'],
  asked: string | undefined,
  outcome: string | RegExp,
])[] = [
  ['no pool of two', undefined, undefined, /parameters\.pool: .*"fast", "slow"/],
  ['a pool that is not there', undefined, 'other', /there is no pool "other".* "fast", "slow"/],
  ['a pool of another cluster', ['slow'], 'fast', /there is no pool "fast".* "slow"/],
  ['no pool where there is one', ['slow'], undefined, 'slow'],
  ['no pool where there is none', [], undefined, /none/],
];
for (const [what, pools, asked, outcome] of choices)
  test(`a cluster that asks for ${what} ${typeof outcome === 'string' ? 'gets it' : 'is refused'}`, async t => {
    const { volumes } = await open(t);
    const created = volumes.create({ ...a, pools }, 'a.one', volumeSpec('one', inPool(asked)));
    if (typeof outcome === 'string') assert.equal((await created).volume.pool, outcome);
    else await assert.rejects(created, { code: 'INVALID_ARGUMENT', detail: outcome });
  });

test('an existing volume is found in its pool, even if other pools exist now, and in no other', async t => {
  const { create, volumes } = await open(t);
  await volumes.create({ ...a, pools: ['slow'] }, 'a.one', volumeSpec('one'));
  assert.equal((await create('a.one')).volume.pool, 'slow');
  await assert.rejects(create('a.one', inPool('fast')), { code: 'ALREADY_EXISTS' });
  const asked = { capabilities: [mounted] };
  for (const pool of ['slow', 'fast']) {
    const { confirmed } = await volumes.validate(a, 'a.one', { ...asked, parameters: { pool } });
    assert.equal(confirmed, pool === 'slow');
  }
});

test('a cluster without a usable pool still finds a volume in the only pool', async t => {
  const { create, volumes } = await openGateway(t);
  await create('a.one');
  assert.equal((await volumes.create({ ...a, pools: [] }, 'a.one', volumeSpec('one'))).created, false);
});

for (const how of ['sweep', undefined, 'slow'])
  test(`an unfinished volume is completed in its pool by ${how === 'sweep' ? 'the sweep' : `the same create with ${how ? 'its' : 'no'} pool`}, even if the cluster may not use the pool any more`, async t => {
    const { volumes, recovery, slow, fast } = await open(t);
    const spec = volumeSpec('one', inPool(how === 'sweep' ? undefined : how));
    slow.failNext('create', 'after', new Error('the answer was lost'));
    const created = volumes.create({ ...a, pools: ['slow'] }, 'a.one', spec);
    await assert.rejects(created, { code: 'UNAVAILABLE' });
    const moved = { ...a, pools: ['fast'] };
    if (how === 'sweep') await recovery.sweep();
    else await volumes.create(moved, 'a.one', spec);
    const { pool, state } = await volumes.get(moved, 'a.one');
    assert.deepEqual([pool, state, fast.calls], ['slow', 'ready', []]);
  });

test('a copy, a snapshot and a group are in the pool of their source', async t => {
  const { create, volumes, snapshots, groups } = await open(t);
  await create('a.one', inPool('fast'));
  await create('a.far', inPool('slow'));
  const { snapshot } = await snapshots.create(a, 'a.cut', { name: 'cut', volumeId: 'a.one' });
  assert.equal(snapshot.pool, 'fast');
  for (const source of [
    { kind: 'snapshot', snapshotId: 'a.cut' },
    { kind: 'volume', volumeId: 'a.one' },
  ] as const) {
    const name = `of-${source.kind}`;
    const copy = await create(`a.${name}`, { source });
    assert.equal(copy.volume.pool, 'fast');
    const elsewhere = volumeSpec('other', { source, parameters: { pool: 'slow' } });
    await assert.rejects(volumes.create(a, 'a.other', elsewhere), {
      code: 'INVALID_ARGUMENT',
      detail: /in pool "fast".*(not in|cannot be in) pool "slow"/,
    });
  }
  await assert.rejects(groups.create(a, 'a.both', { name: 'both', volumeIds: ['a.one', 'a.far'] }), {
    code: 'FAILED_PRECONDITION',
    detail: /"a.one" is in pool "fast", volume "a.far" in pool "slow"/,
  });
  const both = { name: 'both', volumeIds: ['a.one', 'a.of-volume'] };
  const { group } = await groups.create(a, 'a.both', both);
  for (const { pool } of group.snapshots) assert.equal(pool, 'fast');
});

test('volumes in a pool that the cluster may not use any more can be read and deleted', async t => {
  const { create, snapshots, groups } = await open(t);
  await create('a.one', inPool('fast'));
  await snapshots.create(a, 'a.cut', { name: 'cut', volumeId: 'a.one' });
  await groups.create(a, 'a.both', { name: 'both', volumeIds: ['a.one'] });
  const moved = { ...a, pools: ['slow'] };
  assert.equal((await snapshots.get(moved, 'a.cut')).pool, 'fast');
  await snapshots.delete(moved, 'a.cut');
  await groups.delete(moved, 'a.both');
  assert.deepEqual((await snapshots.list(moved, { limit: 10 })).snapshots, []);
});

test("the capabilities are the union over the cluster's pools, and each pool's capabilities separately", async t => {
  const { create, ask, snapshots, health } = await open(t);
  const { body } = await ask('GET /v1/capabilities');
  const pools = body['pools'] as readonly { name: string; features: readonly string[] }[];
  assert.ok((body['features'] as readonly string[]).includes('snapshots'));
  const having = pools.filter(({ features }) => features.includes('snapshots')).map(({ name }) => name);
  assert.deepEqual([pools.length, having], [2, ['fast']]);
  await create('a.one', inPool('slow'));
  const cut = { name: 'cut', volumeId: 'a.one' };
  for (const cluster of [a, { ...a, pools: ['slow'] }])
    await assert.rejects(snapshots.create(cluster, 'a.cut', cut), { code: 'UNIMPLEMENTED' });
  await assert.rejects(health.get(a, 'a.one'), { code: 'UNIMPLEMENTED', detail: /pool "slow"/ });
  assert.deepEqual(await health.list(a, { limit: 10 }), { volumes: [] });
});

test("the capacity is the pool's, and space in one pool is no space in another", async t => {
  const { create, capacities, volumes } = await open(t);
  await create('a.one', { requiredBytes: 40 * mebibyte, parameters: { pool: 'slow' } });
  const left = async (pool: string) =>
    (await capacities.find(a, { parameters: { pool } })).availableBytes / mebibyte;
  assert.deepEqual([await left('fast'), await left('slow')], [100, 10]);
  await assert.rejects(capacities.find(a, {}), { code: 'INVALID_ARGUMENT' });
  const large = (pool: string) => volumeSpec('two', { requiredBytes: 20 * mebibyte, parameters: { pool } });
  await assert.rejects(volumes.create(a, 'a.two', large('slow')), { code: 'RESOURCE_EXHAUSTED' });
  await volumes.create(a, 'a.two', large('fast'));
});

test('volumes of an unconfigured pool are UNAVAILABLE, and there again once it is back', async t => {
  const both = await openGateway(t, { pools: ['fast', 'slow'] });
  await both.create('a.one', inPool('slow'));
  const one = await both.replica({ pools: { fast: both.backend } });
  await assert.rejects(one.volumes.delete(a, 'a.one'), { code: 'UNAVAILABLE' });
  assert.equal((await one.volumes.list(a, { limit: 10 })).volumes.length, 1);
  await both.volumes.delete(a, 'a.one');
});
