import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuditLog } from '../../../../gateway/operations/audit-log.ts';
import { withRequest } from '../../../../gateway/scheduling/current-request.ts';
import type { Engine, Sql } from '../../../../gateway/store.ts';
import { createHourlyChanges } from '../../../../gateway/scheduling/hourly-changes.ts';
import { createImport } from '../../../../gateway/sharing/import.ts';
import {
  addRefusal,
  auditIdAt,
  maxRefusals,
  pruneAuditLog,
  timeOfAuditId,
} from '../../../../gateway/tables/audit-log.ts';
import { limits } from '../../../../src/api/limits.ts';
import { preconditionProblem, Problem, unavailableProblem } from '../../../../src/api/problem.ts';
import type { AuditEntry } from '../../../../src/api/admin.ts';
import {
  assertProblem,
  clusters,
  openGateway,
  mounted,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway.ts';
import { hour } from '../../../harness/gateway/fixtures.ts';

const one = { capability: mounted, readonly: false };

/** A refusal of the cluster `a`, without its id and its resource. */
const refused = {
  actor: 'a',
  subject: undefined,
  cluster: 'a',
  operation: 'create',
  kind: 'volume',
  about: undefined,
  code: 'RESOURCE_EXHAUSTED',
  detail: undefined,
  requestId: undefined,
} as const;

let entries = 0;

/** Makes an id of that time, after all earlier ids of the same time. */
function newId(ms: number): string {
  return `${auditIdAt(ms)}-${String(entries++).padStart(8, '0')}`;
}

async function read({ ask }: Pick<Gateway, 'ask'>, query = ''): Promise<readonly AuditEntry[]> {
  const { status, body } = await ask(`GET /v1/admin/audit-log${query}`, { as: 'reader of operators' });
  assert.equal(status, 200, JSON.stringify(body));
  return body['entries'] as readonly AuditEntry[];
}

/** Reads the log in short form, the oldest entry first. */
async function readShort(gateway: Pick<Gateway, 'ask'>, query = ''): Promise<readonly string[]> {
  return (await read(gateway, query))
    .map(({ actor, operation, resource, about, code }) =>
      [actor, operation, resource, about, code].filter(Boolean).join(' '),
    )
    .toReversed();
}

test('every change is in the log with its caller, in order', async t => {
  const gateway = await openGateway(t, { keepDeletedMs: hour });
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
    'a create a.one main OK',
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

test('a request that changes nothing is not in the log', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  for (let time = 0; time < 2; time++) {
    await gateway.create('a.one');
    await gateway.volumes.delete(clusters.a, 'a.never');
    await gateway.nodes.delete(clusters.a, 'n9');
    await gateway.nodes.put(clusters.a, 'n1', { topology: { zone: 'z', rack: 'r' } });
    await gateway.nodes.put(clusters.a, 'n1', { topology: { rack: 'r', zone: 'z' }, maxVolumes: undefined });
  }
  await gateway.nodes.put(clusters.a, 'n1', { maxVolumes: 3 });
  assert.deepEqual(await readShort(gateway), [
    'gateway create a.one main OK',
    'gateway report a/n1 OK',
    'gateway report a/n1 OK',
  ]);
});

test('a failure is in the log with its code, whether refused at once or by the storage, and so is the clean-up', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
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
    'a create a.two main RESOURCE_EXHAUSTED',
    'a delete a.two unfinished work OK',
  ]);
});

test('the log names the pool whose storage kept an operation from beginning', async t => {
  let fails = false;
  const capacity = async () => {
    if (fails) throw unavailableProblem('away (injected)');
    return { totalBytes: 2 ** 40 };
  };
  const gateway = await openGateway(t, { volumes: ['one'], own: { capacity } });
  fails = true;
  for (const [route, body] of [
    ['PUT /v1/volumes/a.two', volumeSpec('two')],
    ['PUT /v1/volumes/a.one/size', { requiredBytes: 2 ** 21 }],
    ['PUT /v1/snapshots/a.cut', { name: 'cut', volumeId: 'a.one' }],
  ] as const)
    assertProblem(await gateway.ask(route, { body }), 503, 'UNAVAILABLE');
  assert.deepEqual((await readShort(gateway)).slice(1), [
    'a create a.two main UNAVAILABLE',
    'a expand a.one main UNAVAILABLE',
    'a snapshot a.cut main UNAVAILABLE',
  ]);
});

test('refusals of one caller, operation, resource and code are one entry with a count, for any sizes', async t => {
  const gateway = await openGateway(t, { volumes: ['one'], capacity: 2 ** 21 });
  const replica = await gateway.replica();
  const before = (await read(gateway)).length;
  for (let index = 0; index < 20; index++) {
    const { status } = await (index % 2 ? gateway : replica).ask('PUT /v1/volumes/a.large', {
      body: volumeSpec('large', { requiredBytes: 2 ** 20 + 1 + index }),
      headers: { 'x-request-id': `for-${index}` },
    });
    assert.equal(status, 507);
  }
  const log = await read(gateway);
  assert.equal(log.length, before + 1);
  const [newest] = log;
  assert.partialDeepStrictEqual(newest, {
    operation: 'create',
    code: 'RESOURCE_EXHAUSTED',
    resource: 'a.large',
    requestId: 'for-19',
    count: 20,
  });
  assert.ok(newest?.firstAt !== undefined && newest.firstAt <= newest.at);
});

test('a resource keeps its refusal when another one is refused for the same reason', async t => {
  const gateway = await openGateway(t, { volumes: ['small'], capacity: 2 ** 21 });
  for (const name of ['one', 'two', 'one']) {
    const body = volumeSpec(name, { requiredBytes: 2 ** 21 });
    assert.equal((await gateway.ask(`PUT /v1/volumes/a.${name}`, { body })).status, 507);
  }
  for (const [name, count] of [
    ['one', 2],
    ['two', 1],
  ] as const) {
    const [entry, ...more] = await read(gateway, `?resource=a.${name}`);
    assert.partialDeepStrictEqual(entry, { resource: `a.${name}`, code: 'RESOURCE_EXHAUSTED' });
    assert.deepEqual([entry?.count, more], [count, []]);
  }
});

test('refusals of very many resources share an entry, but not with other callers', async t => {
  const { engine } = await openGateway(t);
  const startMs = Math.floor(Date.now() / hour) * hour;
  const refuse = (resource: string, actor = 'a', ms = startMs): Promise<void> =>
    engine.transaction(sql => addRefusal(sql, { ...refused, id: newId(ms), resource, actor }));
  const more = 5;
  for (let index = 0; index < maxRefusals + more; index++) await refuse(`a.${index}`);
  await refuse('a.0');
  await refuse('b.0', 'b');
  await refuse('a.later', 'a', startMs + hour);
  const rows = await engine.reader.all('select actor, resource, count from audit_log order by id');
  const counted = rows.map(({ actor, resource, count }) => [actor, resource, Number(count)]);
  assert.equal(counted.length, maxRefusals + 3);
  assert.deepEqual(counted.slice(-4), [
    ['a', `a.${maxRefusals + more - 1}`, more],
    ['a', 'a.0', 2],
    ['b', 'b.0', 1],
    ['a', 'a.later', 1],
  ]);
});

test('a refusal of another caller, operation or code has its own entry, and so has each change', async t => {
  const gateway = await openGateway(t, { capacity: 2 ** 20 });
  const { ask } = gateway;
  const put = (id: string, as: string, requiredBytes: number) =>
    ask(`PUT /v1/volumes/${id}`, { as, body: volumeSpec(id.slice(2), { requiredBytes }) });
  for (let round = 0; round < 2; round++) {
    assert.equal((await put('a.small', 'a', 2 ** 19)).status, round === 0 ? 201 : 200);
    assert.equal((await put('a.large', 'a', 2 ** 20)).status, 507);
    assert.equal((await put('b.large', 'b', 2 ** 20)).status, 507);
    assert.equal((await put('a.small', 'a', 2 ** 20)).status, 409);
    assert.equal(
      (await ask('PUT /v1/volumes/a.small/size', { body: { requiredBytes: 2 ** 21 } })).status,
      416,
    );
    assert.equal(
      (await ask('PUT /v1/nodes/n1', { body: { maxVolumes: round + 1 } })).status,
      round ? 200 : 201,
    );
  }
  const shown = (await read(gateway)).map(({ actor, operation, code, count }) => [
    actor,
    operation,
    code,
    count,
  ]);
  assert.deepEqual(
    shown.toReversed().toSorted(),
    [
      ['a', 'create', 'OK', undefined],
      ['a', 'create', 'RESOURCE_EXHAUSTED', 2],
      ['a', 'expand', 'OUT_OF_RANGE', 2],
      ['a', 'report', 'OK', undefined],
      ['a', 'report', 'OK', undefined],
      ['b', 'create', 'RESOURCE_EXHAUSTED', 2],
    ].toSorted(),
  );
});

test('the next hour has its own entry', async t => {
  const { engine } = await openGateway(t);
  const startMs = Math.floor(Date.now() / hour) * hour;
  const times = [startMs, startMs + hour - 1, startMs + hour, startMs + hour + 1];
  for (const ms of times)
    await engine.transaction(sql => addRefusal(sql, { ...refused, id: newId(ms), resource: 'a.one' }));
  const rows = await engine.reader.all('select resource, count, first_ms from audit_log order by id');
  assert.deepEqual(
    rows.map(({ resource, count, first_ms: firstMs }) => [resource, Number(count), Number(firstMs)]),
    [
      ['a.one', 2, startMs],
      ['a.one', 2, startMs + hour],
    ],
  );
});

test("a cluster has a maximum of changes in an hour, counted without other clusters'", () => {
  const { max } = limits.changesPerHour;
  let nowMs = 7 * hour;
  const changes = createHourlyChanges(() => nowMs);
  for (let index = 0; index < max; index++) changes.add('a');
  changes.requireFew('b');
  assert.throws(
    () => changes.requireFew('a'),
    (problem: Problem) =>
      problem.code === 'UNAVAILABLE' &&
      problem.retryAfterS === 60 &&
      problem.detail.includes('"changesPerHour"'),
  );
  nowMs += hour;
  changes.requireFew('a');
});

test('a change counts once, and only when it is recorded, however often its transaction runs', async t => {
  const { engine } = await openGateway(t);
  const counted: string[] = [];
  const undone = new Error('undone');
  const transaction: Engine['transaction'] = async work => {
    const undo = async (sql: Sql): Promise<void> => {
      await work(sql);
      throw undone;
    };
    await assert.rejects(engine.transaction(undo), undone);
    return engine.transaction(work);
  };
  const changes = { add: (cluster: string) => counted.push(cluster), requireFew: () => {} };
  const log = createAuditLog({ transaction }, changes);
  const deed = { operation: 'create', kind: 'volume', id: 'a.one' } as const;
  const request = {
    requestId: 'r',
    caller: { role: 'controller', cluster: clusters.a },
    isGone: () => false,
  } as const;
  const change = (isChanged: boolean) =>
    withRequest(request, () => log.change(deed, async () => ({ result: undefined, isChanged })));
  await change(true);
  assert.deepEqual(counted, ['a']);
  await change(false);
  await engine.transaction(sql => sql.run('alter table audit_log rename to taken_away'));
  await assert.rejects(change(true));
  assert.deepEqual(counted, ['a']);
  const audited = withRequest(request, () => log.begin(deed));
  await engine.transaction(sql => sql.run('alter table taken_away rename to audit_log'));
  await transaction(sql => audited.ended(sql, 'OK'));
  audited.count();
  assert.deepEqual(counted, ['a', 'a']);
});

test('the outcome and its entry are recorded together or not at all', async t => {
  const gateway = await openGateway(t);
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
  assert.deepEqual(await readShort(gateway), ['gateway create a.one main OK']);
});

test('the log is read in pages, by cluster, resource and time', async t => {
  const gateway = await openGateway(t, { volumes: ['one', 'two', 'three'] });
  await gateway.create('b.one');
  assert.equal((await read(gateway, '?cluster=a')).length, 3);
  assert.deepEqual(await readShort(gateway, '?resource=b.one'), ['gateway create b.one main OK']);
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

test('a sweep removes entries beyond the retention time, and no younger ones', async t => {
  const gateway = await openGateway(t, { volumes: ['old', 'young'] });
  const { engine } = gateway;
  const [young, old] = await read(gateway);
  assert.ok(young && old);
  const dayMs = 24 * hour;
  const aged = (timeOfAuditId(old.id) - dayMs).toString(16).padStart(12, '0') + old.id.slice(12);
  await engine.transaction(sql => sql.run('update audit_log set id = ? where id = ?', aged, old.id));
  const keeping = await gateway.replica({ keepAuditLogMs: dayMs - hour });
  await keeping.recovery.sweep();
  assert.deepEqual(await read(gateway), [young]);
  await pruneAuditLog(engine, Date.now() + hour);
  assert.deepEqual(await read(gateway), []);
});

test('a cluster may not read the log', async t => {
  const { ask } = await openGateway(t);
  assertProblem(await ask('GET /v1/admin/audit-log'), 404, 'NOT_FOUND');
});

test('a change that the gateway retries by itself is logged once it is done', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  const { backend, volumes, recovery } = gateway;
  for (let time = 0; time < 3; time++) backend.failNext('delete', 'before', unavailableProblem('injected'));
  await assert.rejects(volumes.delete(clusters.a, 'a.one'), { code: 'UNAVAILABLE' });
  for (let time = 0; time < 3; time++) await recovery.sweep();
  assert.deepEqual(await readShort(gateway), [
    'gateway create a.one main OK',
    'gateway delete a.one unfinished work OK',
  ]);
});

test('a refused transfer is in the log, and so is an import beyond the quota, which keeps no claim', async t => {
  const gateway = await openGateway(t, { volumes: ['one'], orphans: ['legacy'] });
  await gateway.create('b.one');
  const body = { cluster: 'b' };
  const answer = await gateway.ask('PUT /v1/admin/volumes/a.one/owner', { as: 'operator', body });
  assertProblem(answer, 409, 'ALREADY_EXISTS');
  const cluster = { ...clusters.b, quota: { volumes: 1 } };
  const asked = { volumeId: 'b.old', cluster, pool: 'main', storageId: 'legacy', capabilities: [mounted] };
  await assert.rejects(createImport(gateway).importVolume(asked), { code: 'RESOURCE_EXHAUSTED' });
  assert.deepEqual(await gateway.engine.reader.all('select * from claims'), []);
  assert.deepEqual((await readShort(gateway)).slice(-2), [
    'operator transfer a.one b.one ALREADY_EXISTS',
    'gateway import b.old legacy RESOURCE_EXHAUSTED',
  ]);
});
