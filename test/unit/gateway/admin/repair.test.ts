import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audit } from '../../../../gateway/admin/audit.ts';
import { plan, reclaim, repair } from '../../../../gateway/admin/repair.ts';
import type { RepairStep } from '../../../../src/api/admin.ts';
import { Problem } from '../../../../src/api/problem.ts';
import {
  clusters,
  makeGateway,
  openMemory,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway-harness.ts';
import { isProblem } from '../../../harness/gateway-problems.ts';
import {
  create,
  hour,
  newVolume,
  makeFaultyGateway,
  snapshot,
  snapshotsIn,
  volumesIn,
} from '../faulty-gateway.ts';

async function planned(gateway: Gateway, safetyAgeMs = 0): Promise<readonly RepairStep[]> {
  return plan(await audit({ ...gateway, stuckAfterMs: 0 }), safetyAgeMs);
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
  const gateway = await makeFaultyGateway(t, { names: ['known'], orphans: ['a.orphan'] });
  const before = await rows(gateway);
  const [step, ...others] = await planned(gateway);
  assert.deepEqual([step?.action, step?.id, others.length], ['remove', 'a.orphan', 0]);
  assert.deepEqual(await volumesIn(gateway.backend), ['a.known', 'a.orphan']);
  assert.deepEqual(await rows(gateway), before);
});

test('a repair removes what carries an id of ours and is unknown, and nothing else', async t => {
  const unknown = ['a.orphan', 'other-system'];
  const gateway = await makeFaultyGateway(t, {
    names: ['known', 'kept'],
    orphans: unknown,
    keepDeletedMs: hour,
  });
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

test('what is not known for long enough is left', async t => {
  const gateway = await makeFaultyGateway(t, { names: ['known'], orphans: ['a.orphan'] });
  const [step] = await planned(gateway, hour);
  assert.deepEqual([step?.action, step?.note], ['none', 'not known for long enough']);
});

test('a store that knows nothing of what the storage has is taken for the wrong one', async t => {
  const [step] = await planned(await makeFaultyGateway(t, { names: [], orphans: ['a.orphan'] }));
  assert.equal(step?.action, 'none');
  assert.match(step?.note ?? '', /is it the right store\?$/);
});

test('a pool of which the store knows nothing is left alone, whatever it knows of another', async t => {
  const [main, other] = [await openMemory(), await openMemory()];
  const gateway = await makeGateway(t, { pools: { main, other } });
  await gateway.volumes.create(clusters.a, 'a.known', volumeSpec('known', { parameters: { pool: 'main' } }));
  await main.create(newVolume('a.orphan'));
  await other.create(newVolume('a.others'));
  assert.deepEqual(await outcomes(gateway), ['done a.orphan', 'left a.others']);
  assert.deepEqual(await volumesIn(other), ['a.others']);
});

test('what is missing is reported and left as it is', async t => {
  const gateway = await makeFaultyGateway(t, { names: ['one', 'two'] });
  await gateway.backend.delete({ id: 'a.one' });
  const before = await rows(gateway);
  assert.deepEqual(await outcomes(gateway), ['left a.one']);
  assert.deepEqual(await rows(gateway), before);
});

test('a repair finishes what is stuck, and reports what it could not finish', async t => {
  const gateway = await makeFaultyGateway(t, { names: ['one', 'two'] });
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

test('what the storage says is in use is left, and leaves no row behind', async t => {
  const gateway = await makeFaultyGateway(t, { names: ['known'], orphans: ['a.orphan'] });
  const inUse = new Problem('FAILED_PRECONDITION', 'it is in use by "/dev/loop0"');
  gateway.backend.failNext('delete', 'before', inUse);
  const [done] = await mend(gateway);
  assert.deepEqual([done?.outcome, done?.note], ['failed', 'it is in use by "/dev/loop0"']);
  assert.deepEqual(await volumesIn(gateway.backend), ['a.known', 'a.orphan']);
  assert.equal((await rows(gateway)).length, 1);
});

test('a removal whose answer is lost is finished by any gateway', async t => {
  const gateway = await makeFaultyGateway(t, { names: ['known'], orphans: ['a.orphan'] });
  gateway.backend.failNext('delete', 'after', new Error('lost'));
  assert.deepEqual(await outcomes(gateway), ['failed a.orphan']);
  assert.equal(await gateway.recovery.sweep(), 1);
  assert.deepEqual(await planned(gateway), []);
});

const kinds = [
  { kind: 'volume', making: 'create', removing: 'delete', make: create },
  {
    kind: 'snapshot',
    making: 'snapshot',
    removing: 'snapshot-delete',
    make: (gateway: Gateway, name: string) => snapshot(gateway, name, 'known'),
  },
] as const;
for (const { kind, making, removing, make } of kinds) {
  const orphan = { pool: 'main', kind, id: 'a.new' };

  test(`a ${kind} that another process is just creating is never removed`, async t => {
    const maker = await makeFaultyGateway(t, { names: ['known'] });
    const [mender, { backend }] = [await maker.replica(), maker];
    const release = backend.hold(making);
    const made = make(maker, 'new');
    await backend.entered(making);
    await assert.rejects(reclaim(mender, orphan), isProblem('ABORTED'));
    release();
    await made;
    await assert.rejects(reclaim(mender, orphan), isProblem('ABORTED'));
    assert.ok(!backend.calls.some(call => call.startsWith(`${removing} `)));
  });

  test(`while a ${kind} that no gateway knows is removed, none creates it`, async t => {
    const maker = await makeFaultyGateway(t, { names: ['known'] });
    const [mender, { backend }] = [await maker.replica(), maker];
    const release = backend.hold(removing);
    const removed = reclaim(mender, orphan);
    await backend.entered(removing);
    await assert.rejects(make(maker, 'new'), isProblem('ABORTED'));
    release();
    await removed;
    await make(maker, 'new');
    assert.deepEqual(await planned(maker), []);
  });
}
