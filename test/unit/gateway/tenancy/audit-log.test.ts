import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createImport } from '../../../../gateway/tenancy/import.ts';
import { pruneAudit, timeOfAuditId } from '../../../../gateway/tables/tenancy/audit-log.ts';
import { preconditionProblem, Problem, unavailableProblem } from '../../../../src/api/problem.ts';
import type { AuditEntry } from '../../../../src/api/admin.ts';
import {
  assertProblem,
  clusters,
  makeGateway,
  mounted,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway-harness.ts';
import { isProblem } from '../../../harness/gateway-problems.ts';
import { hour, makeFaultyGateway } from '../faulty-gateway.ts';

const one = { capability: mounted, readonly: false };

async function read({ ask }: Pick<Gateway, 'ask'>, query = ''): Promise<readonly AuditEntry[]> {
  const { status, body } = await ask(`GET /v1/admin/audit-log${query}`, { as: 'reader of operators' });
  assert.equal(status, 200, JSON.stringify(body));
  return body['entries'] as readonly AuditEntry[];
}

/** What was done, the oldest first, in short. */
async function readShort(gateway: Pick<Gateway, 'ask'>, query = ''): Promise<readonly string[]> {
  return (await read(gateway, query))
    .map(({ actor, operation, resource, about, code }) =>
      [actor, operation, resource, about, code].filter(Boolean).join(' '),
    )
    .toReversed();
}

test('every change is in the log, with who asked for it, in the order in which it was done', async t => {
  const gateway = await makeFaultyGateway(t, { names: [], keepDeletedMs: hour });
  const { ask } = gateway;
  const asked = async (route: string, body?: unknown, as = 'a'): Promise<void> => {
    const { status } = await ask(route, { body, as, headers: { 'x-request-id': 'named-by-test' } });
    assert.ok(status < 300, `${route} ${status}`);
  };
  await asked('PUT /v1/nodes/n1', {});
  await asked('PUT /v1/volumes/a.one', volumeSpec('one'));
  await asked('PUT /v1/volumes/a.one/attachments/n1', one);
  await asked('PUT /v1/volumes/a.one/size', { requiredBytes: 2 ** 21 });
  await asked('PUT /v1/volumes/a.one/parameters', { mutableParameters: { tier: 'fast' } });
  await asked('PUT /v1/snapshots/a.cut', { name: 'cut', volumeId: 'a.one' });
  await asked('PUT /v1/groups/a.both', { name: 'both', volumeIds: ['a.one'] });
  await asked('DELETE /v1/volumes/a.one/attachments/n1');
  await asked('DELETE /v1/snapshots/a.cut');
  await asked('DELETE /v1/groups/a.both');
  await asked('DELETE /v1/volumes/a.one');
  await asked('PUT /v1/admin/deleted-volumes/a.one/restore', undefined, 'operator');
  await asked('DELETE /v1/nodes/n1');
  assert.deepEqual(await readShort(gateway), [
    'a report a/n1 OK',
    'a create a.one OK',
    'a attach a.one n1 OK',
    'a expand a.one OK',
    'a modify a.one OK',
    'a snapshot a.cut OK',
    'a snapshot a.both OK',
    'a detach a.one n1 OK',
    'a delete a.cut OK',
    'a delete a.both OK',
    'a delete a.one OK',
    'operator restore a.one OK',
    'a delete a/n1 OK',
  ]);
  for (const { requestId, subject, at } of await read(gateway)) {
    assert.equal(requestId, 'named-by-test');
    assert.match(subject ?? '', /EdDSA$/);
    assert.ok(Math.abs(Date.parse(at) - Date.now()) < hour);
  }
});

test('what changes nothing, because it is so already, is not in the log', async t => {
  const gateway = await makeFaultyGateway(t, { names: ['one'] });
  for (let time = 0; time < 2; time++) {
    await gateway.volumes.create(clusters.a, 'a.one', volumeSpec('one'));
    await gateway.volumes.delete(clusters.a, 'a.never');
    await gateway.nodes.delete(clusters.a, 'n9');
    await gateway.nodes.put(clusters.a, 'n1', { topology: { zone: 'z', rack: 'r' } });
    await gateway.nodes.put(clusters.a, 'n1', { topology: { rack: 'r', zone: 'z' }, maxVolumes: undefined });
  }
  await gateway.nodes.put(clusters.a, 'n1', { maxVolumes: 3 });
  assert.deepEqual(await readShort(gateway), [
    'gateway create a.one OK',
    'gateway report a/n1 OK',
    'gateway report a/n1 OK',
  ]);
});

test('what fails is in the log by its code, refused at once or by the storage, and what was left is removed', async t => {
  const gateway = await makeFaultyGateway(t, { names: ['one'] });
  const { ask, backend } = gateway;
  const grow = { body: { requiredBytes: 2 ** 50 } };
  assertProblem(await ask('PUT /v1/volumes/a.one/size', grow), 416, 'OUT_OF_RANGE');
  backend.failNext('delete', 'before', preconditionProblem('in use (injected)'));
  assertProblem(await ask('DELETE /v1/volumes/a.one'), 409, 'FAILED_PRECONDITION');
  backend.failNext('delete', 'before', unavailableProblem('slow (injected)'));
  assertProblem(await ask('DELETE /v1/volumes/a.one'), 503, 'UNAVAILABLE');
  backend.failNext('create', 'after', new Problem('RESOURCE_EXHAUSTED', 'full (injected)'));
  const full = await ask('PUT /v1/volumes/a.two', { body: volumeSpec('two') });
  assertProblem(full, 507, 'RESOURCE_EXHAUSTED');
  assert.deepEqual((await readShort(gateway)).slice(1), [
    'a expand a.one OUT_OF_RANGE',
    'a delete a.one FAILED_PRECONDITION',
    'a delete a.one UNAVAILABLE',
    'a create a.two RESOURCE_EXHAUSTED',
    'a delete a.two what was begun OK',
  ]);
});

test('the outcome and its entry are recorded together or not at all', async t => {
  const gateway = await makeFaultyGateway(t, { names: [] });
  const { engine, ask, backend } = gateway;
  await engine.transaction(sql => sql.run('alter table audit_log rename to taken_away'));
  const failed = await ask('PUT /v1/volumes/a.one', { body: volumeSpec('one') });
  assertProblem(failed, 503, 'UNAVAILABLE');
  assert.deepEqual(backend.calls, ['create a.one']);
  await engine.transaction(sql => sql.run('alter table taken_away rename to audit_log'));
  assert.equal((await gateway.volumes.get(clusters.a, 'a.one')).state, 'creating');
  await engine.transaction(sql => sql.run('update claims set until_ms = 0'));
  await gateway.recovery.sweep();
  assert.equal((await gateway.volumes.get(clusters.a, 'a.one')).state, 'ready');
  assert.deepEqual(await readShort(gateway), ['gateway create a.one OK']);
});

test('the log is read in pages, of a cluster, of a resource, of a time', async t => {
  const gateway = await makeFaultyGateway(t, { names: ['one', 'two', 'three'] });
  await gateway.volumes.create(clusters.b, 'b.one', volumeSpec('one'));
  assert.equal((await read(gateway, '?cluster=a')).length, 3);
  assert.deepEqual(await readShort(gateway, '?resource=b.one'), ['gateway create b.one OK']);
  assert.deepEqual(await read(gateway, '?resource=b.one&cluster=a'), []);
  const all = await read(gateway);
  const pages: AuditEntry[] = [];
  for (let token: unknown = ''; token !== undefined;) {
    const page = await gateway.ask(`GET /v1/admin/audit-log?limit=3&pageToken=${String(token)}`, {
      as: 'operator',
    });
    pages.push(...(page.body['entries'] as AuditEntry[]));
    token = page.body['nextPageToken'];
  }
  assert.deepEqual(pages, all);
  const [newest] = all;
  assert.ok(newest);
  const afterAll = new Date(Date.parse(newest.at) + 1).toISOString();
  assert.deepEqual(await read(gateway, `?until=${afterAll}`), all);
  assert.deepEqual(await read(gateway, `?since=${afterAll}`), []);
  assert.ok((await read(gateway, `?since=${newest.at}`)).length > 0);
  const bad = await gateway.ask('GET /v1/admin/audit-log?since=yesterday', { as: 'operator' });
  assertProblem(bad, 400, 'INVALID_ARGUMENT');
});

test('what is older than it is kept is removed by a sweep, and nothing that is younger', async t => {
  const gateway = await makeFaultyGateway(t, { names: ['old', 'young'] });
  const { engine } = gateway;
  const [young, old] = await read(gateway);
  assert.ok(young && old);
  const dayMs = 24 * hour;
  const aged = (timeOfAuditId(old.id) - dayMs).toString(16).padStart(12, '0') + old.id.slice(12);
  await engine.transaction(sql => sql.run('update audit_log set id = ? where id = ?', aged, old.id));
  const keeping = await gateway.replica({ keepAuditMs: dayMs - hour });
  await keeping.recovery.sweep();
  assert.deepEqual(await read(gateway), [young]);
  await pruneAudit(engine, Date.now() + hour);
  assert.deepEqual(await read(gateway), []);
});

test('a cluster may not read the log', async t => {
  const { ask } = await makeGateway(t);
  assertProblem(await ask('GET /v1/admin/audit-log'), 404, 'NOT_FOUND');
});

test('what the gateway tries again by itself is logged once it is done', async t => {
  const gateway = await makeFaultyGateway(t, { names: ['one'] });
  const { backend, volumes, recovery } = gateway;
  for (let time = 0; time < 3; time++) backend.failNext('delete', 'before', unavailableProblem('injected'));
  await assert.rejects(volumes.delete(clusters.a, 'a.one'), isProblem('UNAVAILABLE'));
  for (let time = 0; time < 3; time++) await recovery.sweep();
  assert.deepEqual(await readShort(gateway), [
    'gateway create a.one OK',
    'gateway delete a.one what was begun OK',
  ]);
});

test('a hand-over that is refused is in the log, and so is an import beyond the quota, which keeps no claim', async t => {
  const gateway = await makeFaultyGateway(t, { names: ['one'], orphans: ['legacy'] });
  await gateway.volumes.create(clusters.b, 'b.one', volumeSpec('one'));
  const body = { cluster: 'b' };
  const answer = await gateway.ask('PUT /v1/admin/volumes/a.one/owner', { as: 'operator', body });
  assertProblem(answer, 409, 'ALREADY_EXISTS');
  const cluster = { ...clusters.b, quota: { volumes: 1 } };
  const asked = { volumeId: 'b.old', cluster, pool: 'main', storageId: 'legacy', capabilities: [mounted] };
  await assert.rejects(createImport(gateway)(asked), isProblem('RESOURCE_EXHAUSTED'));
  assert.deepEqual(await gateway.engine.reader.all('select * from claims'), []);
  assert.deepEqual((await readShort(gateway)).slice(-2), [
    'operator hand over a.one b.one ALREADY_EXISTS',
    'gateway import b.old legacy RESOURCE_EXHAUSTED',
  ]);
});
