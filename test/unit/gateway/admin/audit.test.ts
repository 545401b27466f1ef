import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audit } from '../../../../gateway/admin/audit.ts';
import type { Finding } from '../../../../src/api/admin.ts';
import { createFaultyBackend } from '../faulty-backend.ts';
import {
  clusters,
  makeGateway,
  mounted,
  openMemory,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway-harness.ts';
import { newVolume } from './fixtures.ts';

const hour = 3_600_000;

async function look(gateway: Gateway, stuckAfterMs = 0): Promise<readonly string[]> {
  const { findings } = await audit({ ...gateway, stuckAfterMs });
  return findings.map(({ problem, kind, id }) => `${problem} ${kind} ${id}`);
}

function create({ volumes }: Gateway, name: string): Promise<unknown> {
  return volumes.create(clusters.a, `a.${name}`, volumeSpec(name));
}

test('where the storage and the store agree, nothing is found', async t => {
  const gateway = await makeGateway(t);
  assert.deepEqual(await look(gateway), []);
  await create(gateway, 'one');
  await gateway.snapshots.create(clusters.a, 'a.snap', { name: 'snap', volumeId: 'a.one' });
  const cluster = { ...clusters.a, acceptAnyNode: true };
  const spec = { capability: mounted, readonly: false };
  await gateway.attachments.attach({ cluster, volumeId: 'a.one', nodeId: 'n1' }, spec);
  assert.deepEqual(await look(gateway), []);
});

test('what is in the storage alone is unknown, whatever its id', async t => {
  const gateway = await makeGateway(t);
  await create(gateway, 'known');
  await gateway.backend.create(newVolume('a.orphan'));
  await gateway.backend.create(newVolume('somebody-elses'));
  await gateway.snapshots.create(clusters.a, 'a.snap', { name: 'snap', volumeId: 'a.known' });
  await gateway.engine.transaction(sql => sql.run(`delete from snapshots`));
  assert.deepEqual(await look(gateway), [
    'unknown volume a.orphan',
    'unknown volume somebody-elses',
    'unknown snapshot a.snap',
  ]);
});

test('what is in the store alone is missing, also when it is deleted and kept', async t => {
  const gateway = await makeGateway(t, { keepDeletedMs: hour });
  for (const name of ['one', 'two']) await create(gateway, name);
  await gateway.snapshots.create(clusters.a, 'a.snap', { name: 'snap', volumeId: 'a.one' });
  await gateway.volumes.delete(clusters.a, 'a.two');
  for (const id of ['a.one', 'a.two']) await gateway.backend.delete({ id });
  await gateway.backend.snapshots?.delete({ id: 'a.snap' });
  assert.deepEqual(await look(gateway), [
    'missing volume a.one',
    'missing volume a.two',
    'missing snapshot a.snap',
  ]);
});

test('a soft-deleted volume is no finding', async t => {
  const gateway = await makeGateway(t, { keepDeletedMs: hour });
  await create(gateway, 'one');
  await gateway.volumes.delete(clusters.a, 'a.one');
  assert.deepEqual(await look(gateway), []);
});

const unfinished: Readonly<Record<string, (gateway: Gateway) => Promise<unknown>>> = {
  creating: ({ volumes }) => volumes.create(clusters.a, 'a.new', volumeSpec('new')),
  deleting: ({ volumes }) => volumes.delete(clusters.a, 'a.one'),
  'attaching node "n1"': ({ attachments }) =>
    attachments.attach(
      { cluster: { ...clusters.a, acceptAnyNode: true }, volumeId: 'a.one', nodeId: 'n1' },
      { capability: mounted, readonly: false },
    ),
  'expansion pending': ({ changes }) => changes.expand(clusters.a, 'a.one', { requiredBytes: 2 ** 21 }),
  'creating a snapshot': ({ snapshots }) =>
    snapshots.create(clusters.a, 'a.snap', { name: 'snap', volumeId: 'a.one' }),
};
for (const [detail, run] of Object.entries(unfinished))
  test(`what is ${detail} for long is stuck, and not before`, async t => {
    const backend = createFaultyBackend(await openMemory());
    const gateway = await makeGateway(t, { backend });
    await create(gateway, 'one');
    for (const method of ['create', 'delete', 'attach', 'expand', 'cut'] as const)
      backend.failNext(method, 'before', new Error('lost'));
    await assert.rejects(run(gateway));
    assert.deepEqual(await look(gateway, hour), []);
    const { findings } = await audit({ ...gateway, stuckAfterMs: 0 });
    assert.deepEqual(
      findings.map(({ problem, detail: found }) => [problem, found]),
      [['stuck', detail.split(' a ')[0]]],
    );
  });

test('the age of a finding is that since it was first found, and begins anew when it comes again', async t => {
  const gateway = await makeGateway(t);
  await gateway.backend.create(newVolume('a.orphan'));
  const find = async (): Promise<Finding | undefined> =>
    (await audit({ ...gateway, stuckAfterMs: 0 })).findings[0];
  assert.ok(((await find())?.ageMs ?? hour) < 1_000);
  await gateway.engine.transaction(sql =>
    sql.run('update findings set first_seen_ms = first_seen_ms - ?', hour),
  );
  assert.ok(((await find())?.ageMs ?? 0) >= hour);
  await gateway.backend.delete({ id: 'a.orphan' });
  assert.equal(await find(), undefined);
  await gateway.backend.create(newVolume('a.orphan'));
  assert.ok(((await find())?.ageMs ?? hour) < 1_000);
});

test('what is made and removed while an audit runs is no finding', async t => {
  const gateway = await makeGateway(t);
  const stop = new AbortController();
  const churn = async (): Promise<void> => {
    for (let round = 0; !stop.signal.aborted; round++) {
      await create(gateway, `v${round % 5}`);
      await gateway.volumes.delete(clusters.a, `a.v${round % 5}`);
    }
  };
  const churning = churn();
  for (let round = 0; round < 30; round++) assert.deepEqual(await look(gateway, hour), []);
  stop.abort();
  await churning;
});
