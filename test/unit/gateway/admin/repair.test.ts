import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { audit } from '../../../../gateway/admin/audit.ts';
import { reclaim } from '../../../../gateway/admin/reclaim.ts';
import { plan, repair } from '../../../../gateway/admin/repair.ts';
import type { RepairStep } from '../../../../src/api/admin.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { createFaultyBackend } from '../faulty-backend.ts';
import {
  clusters,
  makeGateway,
  openMemory,
  temporaryDirectory,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway-harness.ts';
import { isProblem } from '../../../harness/gateway-problems.ts';
import { newVolume } from './fixtures.ts';

const hour = 3_600_000;

async function steps(gateway: Gateway, safetyAgeMs = 0): Promise<readonly RepairStep[]> {
  return plan(await audit({ ...gateway, stuckAfterMs: 0 }), safetyAgeMs);
}

async function mend(gateway: Gateway): Promise<readonly RepairStep[]> {
  return repair({ ...gateway, stuckAfterMs: 0 }, await steps(gateway));
}

async function there({ backend }: Gateway): Promise<readonly string[]> {
  return (await Array.fromAsync(backend.list?.() ?? [])).toSorted();
}

function create({ volumes }: Gateway, name: string): Promise<unknown> {
  return volumes.create(clusters.a, `a.${name}`, volumeSpec(name));
}

test('a plan changes nothing', async t => {
  const gateway = await makeGateway(t);
  await create(gateway, 'known');
  await gateway.backend.create(newVolume('a.orphan'));
  const rows = await gateway.engine.reader.all('select * from volumes');
  const planned = await steps(gateway);
  assert.deepEqual(
    planned.map(({ id, action }) => `${action} ${id}`),
    ['remove a.orphan'],
  );
  assert.deepEqual(await there(gateway), ['a.known', 'a.orphan']);
  assert.deepEqual(await gateway.engine.reader.all('select * from volumes'), rows);
});

test('a repair removes what carries an id of ours and is unknown, and nothing else', async t => {
  const gateway = await makeGateway(t, { keepDeletedMs: hour });
  for (const name of ['known', 'kept']) await create(gateway, name);
  await gateway.volumes.delete(clusters.a, 'a.kept');
  for (const id of ['a.orphan', 'somebody-elses']) await gateway.backend.create(newVolume(id));
  const volume = { id: 'a.orphan', sizeBytes: 2 ** 20, parameters: {} };
  const cut = { volume, attachedForWriting: false, parameters: {} };
  await gateway.backend.snapshots?.create({ id: 'a.orphaned-snapshot', ...cut });
  const done = await mend(gateway);
  assert.deepEqual(done.map(({ id, outcome }) => `${outcome} ${id}`).toSorted(), [
    'done a.orphan',
    'done a.orphaned-snapshot',
    'left somebody-elses',
  ]);
  assert.deepEqual(await there(gateway), ['a.kept', 'a.known', 'somebody-elses']);
  assert.deepEqual(await Array.fromAsync(gateway.backend.snapshots?.list?.() ?? []), []);
  assert.deepEqual((await steps(gateway)).map(({ id }) => id).toSorted(), ['somebody-elses']);
});

test('what is not known for long enough is left', async t => {
  const gateway = await makeGateway(t);
  await create(gateway, 'known');
  await gateway.backend.create(newVolume('a.orphan'));
  const [step] = await steps(gateway, hour);
  assert.deepEqual([step?.action, step?.note], ['none', 'not known for long enough']);
});

test('a store that knows nothing of what the storage has is taken for the wrong one', async t => {
  const gateway = await makeGateway(t);
  await gateway.backend.create(newVolume('a.orphan'));
  const [step] = await steps(gateway);
  assert.equal(step?.action, 'none');
  assert.match(step?.note ?? '', /is it the right store\?$/);
});

test('a pool of which the store knows nothing is left alone, whatever it knows of another', async t => {
  const [main, other] = [await openMemory(), await openMemory()];
  const gateway = await makeGateway(t, { pools: { main, other } });
  await gateway.volumes.create(clusters.a, 'a.known', volumeSpec('known', { parameters: { pool: 'main' } }));
  await main.create(newVolume('a.orphan'));
  await other.create(newVolume('a.anothers'));
  const done = await mend(gateway);
  assert.deepEqual(done.map(({ id, outcome }) => `${outcome} ${id}`).toSorted(), [
    'done a.orphan',
    'left a.anothers',
  ]);
  assert.deepEqual(await Array.fromAsync(other.list?.() ?? []), ['a.anothers']);
});

test('what is missing is told and left as it is', async t => {
  const gateway = await makeGateway(t);
  for (const name of ['one', 'two']) await create(gateway, name);
  await gateway.backend.delete({ id: 'a.one' });
  const rows = await gateway.engine.reader.all('select * from volumes');
  assert.deepEqual(
    (await mend(gateway)).map(({ id, outcome }) => `${outcome} ${id}`),
    ['left a.one'],
  );
  assert.deepEqual(await gateway.engine.reader.all('select * from volumes'), rows);
});

test('a repair finishes what is stuck, and tells what it could not finish', async t => {
  const backend = createFaultyBackend(await openMemory());
  const gateway = await makeGateway(t, { backend });
  for (const name of ['gone', 'held']) await create(gateway, name);
  const lose = (): void => backend.failNext('delete', 'before', new Error('lost'));
  for (const id of ['a.gone', 'a.held']) {
    lose();
    await assert.rejects(gateway.volumes.delete(clusters.a, id));
  }
  const planned = await steps(gateway);
  backend.failNext('delete', 'before', new Error('lost'));
  const done = await repair({ ...gateway, stuckAfterMs: 0 }, planned);
  assert.deepEqual(done.map(({ outcome }) => outcome).toSorted(), ['done', 'failed']);
  assert.deepEqual(
    (await mend(gateway)).map(({ outcome }) => outcome),
    ['done'],
  );
  assert.deepEqual(await there(gateway), []);
});

test('what the storage says is in use is left, and leaves no row behind', async t => {
  const backend = createFaultyBackend(await openMemory());
  const gateway = await makeGateway(t, { backend });
  await create(gateway, 'known');
  await backend.create(newVolume('a.orphan'));
  backend.failNext('delete', 'before', new Problem('FAILED_PRECONDITION', 'it is in use by "/dev/loop0"'));
  const [done] = await mend(gateway);
  assert.deepEqual([done?.outcome, done?.note], ['failed', 'it is in use by "/dev/loop0"']);
  assert.deepEqual(await there(gateway), ['a.known', 'a.orphan']);
  assert.equal((await gateway.engine.reader.all('select * from volumes')).length, 1);
});

test('a removal whose answer is lost is finished by any gateway', async t => {
  const backend = createFaultyBackend(await openMemory());
  const gateway = await makeGateway(t, { backend });
  await create(gateway, 'known');
  await backend.create(newVolume('a.orphan'));
  backend.failNext('delete', 'after', new Error('lost'));
  assert.equal((await mend(gateway))[0]?.outcome, 'failed');
  assert.equal(await gateway.recovery.sweep(), 1);
  assert.deepEqual(await steps(gateway), []);
});

for (const kind of ['volume', 'snapshot'] as const) {
  test(`a ${kind} that another process is just making is never removed`, async t => {
    const store = join(temporaryDirectory(t), 'store.sqlite');
    const backend = createFaultyBackend(await openMemory());
    const [maker, mender] = [
      await makeGateway(t, { backend, store }),
      await makeGateway(t, { backend, store }),
    ];
    await create(maker, 'known');
    const method = kind === 'volume' ? 'create' : 'cut';
    const release = backend.hold(method);
    const making =
      kind === 'volume'
        ? create(maker, 'new')
        : maker.snapshots.create(clusters.a, 'a.new', { name: 'new', volumeId: 'a.known' });
    await backend.entered(method);
    await assert.rejects(reclaim(mender, { pool: 'main', kind, id: 'a.new' }), isProblem('ABORTED'));
    release();
    await making;
    await assert.rejects(reclaim(mender, { pool: 'main', kind, id: 'a.new' }), isProblem('ABORTED'));
    assert.ok(!backend.calls.some(call => /^(delete|uncut) /.test(call)));
  });

  test(`while a ${kind} nobody knows is removed, nobody makes it`, async t => {
    const store = join(temporaryDirectory(t), 'store.sqlite');
    const backend = createFaultyBackend(await openMemory());
    const [maker, mender] = [
      await makeGateway(t, { backend, store }),
      await makeGateway(t, { backend, store }),
    ];
    await create(maker, 'known');
    const make = (): Promise<unknown> =>
      kind === 'volume'
        ? create(maker, 'new')
        : maker.snapshots.create(clusters.a, 'a.new', { name: 'new', volumeId: 'a.known' });
    const method = kind === 'volume' ? 'delete' : 'uncut';
    const release = backend.hold(method);
    const removing = reclaim(mender, { pool: 'main', kind, id: 'a.new' });
    await backend.entered(method);
    await assert.rejects(make(), isProblem('ABORTED'));
    release();
    await removing;
    await make();
    assert.deepEqual(await steps(maker), []);
  });
}
