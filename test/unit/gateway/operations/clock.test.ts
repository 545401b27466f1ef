import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createAdmin } from '../../../../gateway/admin/admin.ts';
import { createClock } from '../../../../gateway/operations/clock.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { newVolume, clusters, openGateway, mounted, type Gateway } from '../../../harness/gateway.ts';

const { a } = clusters;
const id = 'a.pvc-1';
const day = 86_400_000;
const startMs = Date.UTC(2030, 0, 1);

/** Opens a gateway with a deleted volume that can be restored for 90 seconds, at `startMs`. */
async function openDeleted(t: TestContext) {
  t.mock.timers.enable({ apis: ['Date'], now: startMs });
  const gateway = await openGateway(t, { keepDeletedMs: 90_000 });
  await gateway.recovery.sweep();
  await gateway.create(id);
  await gateway.volumes.delete(a, id);
  /** Returns the storage's volumes after a gateway's sweep at this time. */
  const volumesAt = async (ms: number, { recovery, backend }: Gateway = gateway) => {
    t.mock.timers.setTime(startMs + ms);
    await recovery.sweep();
    return Array.fromAsync(backend.list?.() ?? []);
  };
  return { gateway, volumesAt };
}

test('a clock that jumps ahead deletes nothing: a deleted volume is kept for the full time', async t => {
  const { gateway, volumesAt } = await openDeleted(t);
  assert.deepEqual(await volumesAt(30 * day), [id]);
  assert.match(gateway.logLines.join('\n'), /^warn .*the clock went ahead/m);
  assert.ok(Math.abs(gateway.recovery.skewMs() - 30 * day) < 60_000);
  const { body } = await gateway.ask('GET /v1/admin/deleted-volumes', { as: 'operator' });
  const [deleted] = body['volumes'] as readonly { readonly restorableUntilMs: number }[];
  assert.ok((deleted?.restorableUntilMs ?? 0) >= startMs + 30 * day + 80_000, JSON.stringify(body));
  assert.deepEqual(await volumesAt(30 * day + 50_000), [id]);
  assert.deepEqual(await volumesAt(30 * day + 100_000), []);
});

test('time without a running gateway does not count towards the restore time', async t => {
  const { gateway, volumesAt } = await openDeleted(t);
  assert.deepEqual(await volumesAt(30 * day, await gateway.replica()), [id]);
});

test('a clock that goes back is reported, and deleted volumes are kept', async t => {
  const { gateway, volumesAt } = await openDeleted(t);
  assert.deepEqual(await volumesAt(-day), [id]);
  assert.match(gateway.logLines.join('\n'), /^warn the clock is behind/m);
  assert.equal(gateway.recovery.skewMs(), -day);
});

test('a claim by a clock that was ahead ends within one lease of the next sweep', async t => {
  const { create, backend, engine, recovery } = await openGateway(t);
  const release = backend.hold('create');
  const creating = create(id);
  await backend.entered('create');
  await engine.transaction(sql => sql.run('update claims set until_ms = ?', Date.now() + 30 * day));
  await recovery.sweep();
  const [claim] = await engine.reader.all('select until_ms from claims');
  release();
  await creating;
  assert.ok(Number(claim?.['until_ms']) <= Date.now() + 15_000);
});

for (const jump of [30 * day, -30 * day])
  test(`a clock that goes ${jump > 0 ? 'ahead' : 'back'} takes no claim from its holder`, async t => {
    t.mock.timers.enable({ apis: ['Date'], now: startMs });
    const { create, backend, engine } = await openGateway(t);
    const { look } = createClock({ engine, log: silentLog, leaseMs: 15_000 });
    await look();
    if (jump < 0) t.mock.timers.setTime(startMs + jump);
    const release = backend.hold('create');
    const creating = create(id);
    await backend.entered('create');
    if (jump > 0) t.mock.timers.setTime(startMs + jump);
    await look();
    release();
    await creating;
  });

test('a repair right after a clock went ahead removes nothing that was found a moment ago', async t => {
  t.mock.timers.enable({ apis: ['Date'], now: startMs });
  const gateway = await openGateway(t);
  const { create, backend, recovery } = gateway;
  const admin = createAdmin({ ...gateway, clusters: () => ({}) });
  await recovery.sweep();
  await create(id);
  await backend.create(newVolume('a.orphan'));
  await admin.check({ stuckAfterMs: 0 });
  t.mock.timers.setTime(startMs + 30 * day);
  await admin.repair({ body: { dryRun: false, stuckAfterMs: 0, safetyAgeMs: 3_600_000 } });
  assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), [id, 'a.orphan']);
});

test('a clock that jumps ahead removes nothing from the audit log: unobserved time does not count', async t => {
  t.mock.timers.enable({ apis: ['Date'], now: startMs });
  const gateway = await openGateway(t, { keepAuditLogMs: 90_000 });
  const { create, engine, recovery } = gateway;
  /** Returns the audit log of these volumes after a gateway's sweep at this time. */
  const loggedAt = async (ms: number): Promise<readonly unknown[]> => {
    t.mock.timers.setTime(startMs + ms);
    await recovery.sweep();
    const rows = await engine.reader.all('select resource from audit_log order by id');
    return rows.map(({ resource }) => resource);
  };
  await recovery.sweep();
  await create(id);
  assert.deepEqual(await loggedAt(30 * day), [id]);
  assert.deepEqual(await loggedAt(60 * day), [id], 'nor does a second time');
  assert.deepEqual(await loggedAt(60 * day + 50_000), [id]);
  await create('a.pvc-2');
  assert.deepEqual(await loggedAt(60 * day + 100_000), ['a.pvc-2']);
  assert.deepEqual(await loggedAt(60 * day + 150_000), [], 'later rows are not kept longer for it');
  const unseen = await engine.reader.all("select name from clock where name like 'unseen%'");
  assert.deepEqual(unseen, [], 'the clock forgets a gap that it has made up for');
});

test('nodes do not notice a clock that goes back: each attachment has a later id than earlier ones', async t => {
  t.mock.timers.enable({ apis: ['Date'], now: startMs });
  const gateway = await openGateway(t, { volumes: ['pvc-1'] });
  await gateway.nodes.put(a, 'n1', {});
  const ids: string[] = [];
  const attachNext = async ({ attachments }: Pick<Gateway, 'attachments'> = gateway): Promise<void> => {
    const key = { cluster: a, volumeId: id, nodeId: 'n1' };
    const { attachment } = await attachments.attach(key, { capability: mounted, readonly: false });
    ids.push(attachment.attachment?.attachmentId ?? assert.fail());
    await attachments.detach(key);
  };
  await attachNext();
  t.mock.timers.setTime(startMs - day);
  for (let count = 0; count < 10; count++) await attachNext();
  await attachNext(await gateway.replica());
  await gateway.volumes.delete(a, id);
  await gateway.create(id);
  await attachNext();
  assert.deepEqual(ids, ids.toSorted());
});
