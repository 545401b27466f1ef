import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check } from '../../../../gateway/admin/check.ts';
import { plan, reclaim, repair } from '../../../../gateway/admin/repair.ts';
import type { RepairStep } from '../../../../src/api/admin.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { newVolume, clusters, openGateway, type Gateway } from '../../../harness/gateway.ts';
import { hour, snapshotsIn, volumesIn } from '../../../harness/gateway/fixtures.ts';

async function planned(gateway: Gateway, safetyAgeMs = 0): Promise<readonly RepairStep[]> {
  return plan(await check({ ...gateway, stuckAfterMs: 0 }), safetyAgeMs);
}

async function mend(gateway: Gateway): Promise<readonly RepairStep[]> {
  return repair({ ...gateway, stuckAfterMs: 0 }, await planned(gateway));
}

async function outcomes(gateway: Gateway): Promise<readonly string[]> {
  return (await mend(gateway)).map(({ id, outcome }) => `${outcome} ${id}`).toSorted();
}

function rows({ engine }: Gateway): Promise<readonly unknown[]> {
  return engine.reader.all('select * from volumes');
}

test('a plan changes nothing', async t => {
  const gateway = await openGateway(t, { volumes: ['known'], orphans: ['a.orphan'] });
  const before = await rows(gateway);
  const [step, ...others] = await planned(gateway);
  assert.deepEqual([step?.action, step?.id, others.length], ['remove', 'a.orphan', 0]);
  assert.deepEqual(await volumesIn(gateway.backend), ['a.known', 'a.orphan']);
  assert.deepEqual(await rows(gateway), before);
});

test('a repair removes only unknown objects with an id of ours', async t => {
  const unknown = ['a.orphan', 'other-system'];
  const gateway = await openGateway(t, { volumes: ['known', 'kept'], orphans: unknown, keepDeletedMs: hour });
  await gateway.volumes.delete(clusters.a, 'a.kept');
  const volume = { id: 'a.orphan', sizeBytes: 2 ** 20, parameters: {} };
  const taken = { id: 'a.orphaned-snapshot', nonce: 'x', volume, attachedForWriting: false, parameters: {} };
  await gateway.backend.snapshots?.create(taken);
  assert.deepEqual(await outcomes(gateway), [
    'done a.orphan',
    'done a.orphaned-snapshot',
    'left other-system',
  ]);
  assert.deepEqual(await volumesIn(gateway.backend), ['a.kept', 'a.known', 'other-system']);
  assert.deepEqual(await snapshotsIn(gateway.backend), []);
  assert.deepEqual(await outcomes(gateway), ['left other-system']);
});

test('an object that is unknown for too short a time is left', async t => {
  const gateway = await openGateway(t, { volumes: ['known'], orphans: ['a.orphan'] });
  const [step] = await planned(gateway, hour);
  assert.deepEqual([step?.action, step?.note], ['none', 'it was first found less than the safety age ago']);
});

test("a store that knows nothing of the storage's objects counts as the wrong store", async t => {
  const [step] = await planned(await openGateway(t, { orphans: ['a.orphan'] }));
  assert.equal(step?.action, 'none');
  assert.match(step?.note ?? '', /check that it is the right store$/);
});

test('a pool that the store does not know is left alone, even if the store knows other pools', async t => {
  const gateway = await openGateway(t, { pools: ['main', 'other'], orphans: ['a.orphan'] });
  const other = gateway.backends['other'] ?? assert.fail();
  await gateway.create('a.known', { parameters: { pool: 'main' } });
  await other.create(newVolume('a.others'));
  assert.deepEqual(await outcomes(gateway), ['done a.orphan', 'left a.others']);
  assert.deepEqual(await volumesIn(other), ['a.others']);
});

test('a missing volume is reported and left as it is', async t => {
  const gateway = await openGateway(t, { volumes: ['one', 'two'] });
  await gateway.backend.delete({ id: 'a.one' });
  const before = await rows(gateway);
  assert.deepEqual(await outcomes(gateway), ['left a.one']);
  assert.deepEqual(await rows(gateway), before);
});

test('a repair finishes stuck operations, and reports the ones that it could not finish', async t => {
  const gateway = await openGateway(t, { volumes: ['one', 'two'] });
  const lose = (): void => gateway.backend.failNext('delete', 'before', new Error('lost'));
  for (const id of ['a.one', 'a.two']) {
    lose();
    await assert.rejects(gateway.volumes.delete(clusters.a, id));
  }
  lose();
  const done = await mend(gateway);
  assert.deepEqual(done.map(({ outcome }) => outcome).toSorted(), ['done', 'failed']);
  assert.equal((await outcomes(gateway)).length, 1);
  assert.deepEqual(await volumesIn(gateway.backend), []);
});

test('an object that the storage reports as in use is left, without a row', async t => {
  const gateway = await openGateway(t, { volumes: ['known'], orphans: ['a.orphan'] });
  const inUse = new Problem('FAILED_PRECONDITION', 'it is in use by "/dev/loop0"');
  gateway.backend.failNext('delete', 'before', inUse);
  const [done] = await mend(gateway);
  assert.deepEqual([done?.outcome, done?.note], ['failed', 'it is in use by "/dev/loop0"']);
  assert.deepEqual(await volumesIn(gateway.backend), ['a.known', 'a.orphan']);
  assert.equal((await rows(gateway)).length, 1);
});

test('any gateway finishes a removal whose answer is lost', async t => {
  const gateway = await openGateway(t, { volumes: ['known'], orphans: ['a.orphan'] });
  gateway.backend.failNext('delete', 'after', new Error('lost'));
  assert.deepEqual(await outcomes(gateway), ['failed a.orphan']);
  assert.equal(await gateway.recovery.sweep(), 1);
  assert.deepEqual(await planned(gateway), []);
});

const kinds = [
  { kind: 'volume', making: 'create', removing: 'delete' },
  { kind: 'snapshot', making: 'snapshot', removing: 'snapshot-delete' },
] as const;
for (const { kind, making, removing } of kinds) {
  const make = (gateway: Gateway): Promise<unknown> =>
    kind === 'volume' ? gateway.create('a.new') : gateway.snapshot('a.new', 'a.known');
  const orphan = { pool: 'main', kind, id: 'a.new' };

  test(`a ${kind} that another process is creating is never removed`, async t => {
    const maker = await openGateway(t, { volumes: ['known'] });
    const [mender, { backend }] = [await maker.replica(), maker];
    const release = backend.hold(making);
    const made = make(maker);
    await backend.entered(making);
    await assert.rejects(reclaim(mender, orphan), { code: 'ABORTED' });
    release();
    await made;
    await assert.rejects(reclaim(mender, orphan), { code: 'ABORTED' });
    assert.ok(!backend.calls.some(call => call.startsWith(`${removing} `)));
  });

  test(`a ${kind} is not created by any gateway during the removal of an unknown one`, async t => {
    const maker = await openGateway(t, { volumes: ['known'] });
    const [mender, { backend }] = [await maker.replica(), maker];
    const release = backend.hold(removing);
    const removed = reclaim(mender, orphan);
    await backend.entered(removing);
    await assert.rejects(make(maker), { code: 'ABORTED' });
    release();
    await removed;
    await make(maker);
    assert.deepEqual(await planned(maker), []);
  });
}
