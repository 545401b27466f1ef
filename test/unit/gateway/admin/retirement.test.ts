import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  assertProblem,
  clusters,
  endClaims,
  mounted,
  openGateway,
  type Answer,
  type Gateway,
} from '../../../harness/gateway.ts';
import { hour, snapshotsIn } from '../../../harness/gateway/fixtures.ts';

const { a } = clusters;

const retire = ({ ask }: Pick<Gateway, 'ask'>, body: object = {}): Promise<Answer> =>
  ask('PUT /v1/admin/clusters/a/retirement', { as: 'operator', body });

/** Opens a gateway with the volumes `a.one`, attached to n1, and `a.two`. Deleted volumes are kept for an hour. */
async function open(t: TestContext) {
  const gateway = await openGateway(t, { volumes: ['one', 'two'], keepDeletedMs: hour });
  await gateway.attach('a.one');
  return gateway;
}

const stepsOf = ({ body }: Answer): readonly unknown[] =>
  (body['steps'] as { id: string; action: string; outcome: string }[]).map(
    ({ id, action, outcome }) => `${action} ${id} ${outcome}`,
  );

async function statesOf({ engine }: Pick<Gateway, 'engine'>): Promise<readonly string[]> {
  const rows = await engine.reader.all('select id, state from volumes order by id');
  return rows.map(({ id, state }) => `${id} ${state}`);
}

const statusOf = async ({ ask }: Pick<Gateway, 'ask'>, as = 'a'): Promise<number> =>
  (await ask('GET /v1/volumes', { as })).status;

test('a retired cluster and its readers are refused by each gateway, and others are not', async t => {
  const gateway = await open(t);
  const soon = await gateway.replica({ retiredEveryMs: 0 });
  assert.deepEqual([await statusOf(gateway), await statusOf(soon)], [200, 200]);
  const answer = await retire(gateway, { force: true });
  assert.equal(answer.body['isRetired'], true);
  for (const one of [gateway, soon]) {
    const refused = await one.ask('GET /v1/volumes');
    assertProblem(refused, 401, 'UNAUTHENTICATED');
    assert.match(String(refused.body['detail']), /^cluster "a" was retired.*admin retire-cluster a --end$/);
    assert.deepEqual([await statusOf(one, 'reader of a'), await statusOf(one, 'b')], [401, 200]);
  }
  assert.deepEqual(stepsOf(answer), ['detach a.one/a/n1 done', 'keep a.one done', 'keep a.two done']);
  assert.deepEqual(await statesOf(gateway), ['a.one ready', 'a.two ready']);
  const shown = await gateway.ask('GET /v1/admin/clusters?id=a', { as: 'operator' });
  assert.partialDeepStrictEqual(shown.body, { clusters: [{ id: 'a', volumes: 2, attachments: 0 }] });
  const [cluster] = shown.body['clusters'] as { retiredSince?: string }[];
  assert.ok(Date.parse(cluster?.retiredSince ?? '') > Date.now() - hour);
  await retire(gateway, { end: true });
  assert.deepEqual([await statusOf(gateway), await statusOf(soon)], [200, 200]);
  const log = await gateway.ask('GET /v1/admin/audit-log?resource=a', { as: 'operator' });
  const entries = log.body['entries'] as { operation: string; actor: string }[];
  assert.deepEqual(
    entries.map(({ operation, actor }) => `${actor} ${operation}`),
    ['operator end retirement', 'operator retire'],
  );
});

test('while a pool is not open, a retirement does not say that the pool cuts nodes off', async t => {
  const gateway = await open(t);
  const isCutOff = async (): Promise<unknown> => {
    const { body } = await retire(gateway, { force: true, dryRun: true });
    return (body['steps'] as { isCutOff?: boolean }[])[0]?.isCutOff;
  };
  assert.equal(await isCutOff(), undefined);
  (gateway.pools.all() as unknown[]).pop();
  assert.equal(await isCutOff(), false);
});

test('without force, a cluster with an attached volume stays in service, and its volumes stay', async t => {
  const gateway = await open(t);
  const left = ['detach a.one/a/n1 failed', 'transfer a.one left', 'transfer a.two left'];
  for (const dryRun of [true, false]) {
    const answer = await retire(gateway, { volumes: 'transfer', to: 'b', dryRun });
    assert.deepEqual([stepsOf(answer), answer.body['isRetired']], [left, false]);
  }
  assert.deepEqual(await statesOf(gateway), ['a.one ready', 'a.two ready']);
  assert.equal((await gateway.engine.reader.all('select * from attachments')).length, 1);
  assert.equal(await statusOf(gateway), 200);
});

test('without force, a volume that the next owner or a late pod has attached is not transferred', async t => {
  const gateway = await openGateway(t, { volumes: ['one', 'two'] });
  const body = { volumes: 'transfer', to: 'b' };
  const asked = { as: 'operator', body: { access: 'read-write' } };
  await gateway.ask('PUT /v1/admin/volumes/a.one/grants/b', asked);
  const ofB = { cluster: { ...clusters.b, acceptAnyNode: true }, volumeId: 'a.one', nodeId: 'n1' };
  await gateway.attachments.attach(ofB, { capability: mounted, readonly: false });
  const left = ['detach a.one/b/n1 failed', 'transfer a.one left', 'transfer a.two left'];
  for (const dryRun of [true, false])
    assert.deepEqual(stepsOf(await retire(gateway, { ...body, dryRun })), left);
  assert.deepEqual(await statesOf(gateway), ['a.one ready', 'a.two ready']);
  await gateway.attachments.detach(ofB);
  // A pod of the next owner attaches a volume after the attachments were listed.
  let lists = 0;
  const slow = await gateway.replica({
    wrapEngine: engine => ({
      ...engine,
      reader: {
        async all(sql, ...values) {
          if (sql.includes("state <> 'deleted' and id >") && ++lists === 2)
            await gateway.attachments.attach(ofB, { capability: mounted, readonly: false });
          return engine.reader.all(sql, ...values);
        },
      },
    }),
  });
  const late = await retire(slow, body);
  assert.deepEqual(stepsOf(late), ['transfer a.one failed', 'transfer a.two done']);
  assert.match(
    JSON.stringify(late.body['steps']),
    /is attached to node \\"n1\\" of cluster \\"b\\"; delete the pods/,
  );
  assert.equal((await gateway.engine.reader.all('select * from attachments')).length, 1);
  assert.equal((await retire(gateway, { ...body, force: true })).body['isRetired'], true);
  assert.deepEqual(await statesOf(gateway), ['b.one ready', 'b.two ready']);
});

for (const [volumes, to, expected] of [
  ['delete', undefined, ['a.one deleted', 'a.two deleted']],
  ['transfer', 'b', ['b.one ready', 'b.two ready']],
] as const)
  test(`a retirement can ${volumes} all volumes, and a dry run of it changes nothing`, async t => {
    const gateway = await open(t);
    const body = { volumes, force: true, ...(to && { to }) };
    const planned = await retire(gateway, { ...body, dryRun: true });
    assert.deepEqual(stepsOf(planned).slice(1), [`${volumes} a.one planned`, `${volumes} a.two planned`]);
    assert.deepEqual(await statesOf(gateway), ['a.one ready', 'a.two ready']);
    assert.equal(await statusOf(gateway), 200);
    const done = await retire(gateway, body);
    assert.deepEqual(stepsOf(done).slice(1), [`${volumes} a.one done`, `${volumes} a.two done`]);
    assert.deepEqual(await statesOf(gateway), expected);
    assert.equal(await statusOf(gateway), 401);
  });

test('a step that fails leaves the cluster retired, a dry run foresees it, and the next call goes on', async t => {
  const gateway = await open(t);
  await gateway.create('b.two');
  const body = { volumes: 'transfer', to: 'b', force: true };
  const planned = await retire(gateway, { ...body, dryRun: true });
  assert.deepEqual(stepsOf(planned).slice(2), ['transfer a.two failed']);
  assert.equal(await statusOf(gateway), 200);
  const failed = await retire(gateway, body);
  assert.deepEqual(stepsOf(failed).slice(1), ['transfer a.one done', 'transfer a.two failed']);
  assert.match(JSON.stringify(failed.body['steps']), /"b\.two\\" is the id of another volume/);
  assert.deepEqual([failed.body['isRetired'], await statusOf(gateway)], [true, 401]);
  await gateway.volumes.delete(a, 'a.two');
  const next = await retire(gateway, body);
  assert.deepEqual([next.body['isRetired'], next.body['failed']], [true, 0]);
});

test('a retired cluster gets no volume, snapshot, attachment or import, even from a request that came before', async t => {
  const gateway = await openGateway(t, { volumes: ['one'], orphans: ['found'] });
  await gateway.nodes.put(a, 'n1', {});
  await retire(gateway, { volumes: 'keep' });
  // The services stand for requests that were let in before the retirement, here or at another replica.
  const refused = { code: 'FAILED_PRECONDITION', message: /cluster "a" is retired.*retire-cluster a --end/ };
  await assert.rejects(gateway.create('a.late'), refused);
  await assert.rejects(gateway.snapshot('a.s', 'a.one'), refused);
  await assert.rejects(gateway.attach('a.one'), refused);
  const found = { pool: 'main', storageId: 'found', sizeBytes: 2 ** 20, capabilities: [mounted] };
  const importing = { as: 'operator', body: found };
  const answer = await gateway.ask('PUT /v1/admin/imports/a.found', importing);
  assertProblem(answer, 409, 'FAILED_PRECONDITION');
  assert.match(String(answer.body['detail']), refused.message);
  assert.deepEqual(await statesOf(gateway), ['a.one ready']);
  await retire(gateway, { end: true });
  await gateway.create('a.late');
  await gateway.attach('a.one');
  assert.equal((await gateway.ask('PUT /v1/admin/imports/a.found', importing)).status, 200);
});

test('a retirement removes the nodes of the cluster, but none while a volume is attached without force', async t => {
  const gateway = await open(t);
  await gateway.nodes.put(a, 'n1', {});
  await gateway.nodes.put(a, 'n2', {});
  const left = ['keep a.one left', 'keep a.two left', 'remove a/n1 left', 'remove a/n2 left'];
  assert.deepEqual(stepsOf(await retire(gateway)).slice(1), left);
  const planned = await retire(gateway, { force: true, dryRun: true });
  assert.deepEqual(stepsOf(planned).slice(3), ['remove a/n1 planned', 'remove a/n2 planned']);
  assert.equal((await gateway.engine.reader.all('select * from nodes')).length, 2);
  const done = await retire(gateway, { force: true });
  assert.deepEqual(stepsOf(done).slice(3), ['remove a/n1 done', 'remove a/n2 done']);
  assert.deepEqual(await gateway.engine.reader.all('select * from nodes'), []);
});

test('no volume is transferred to a retired cluster, and no cluster is retired into one', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  const ofB = { as: 'operator', body: {} };
  await gateway.ask('PUT /v1/admin/clusters/b/retirement', ofB);
  const transfer = { as: 'operator', body: { cluster: 'b' } };
  const refused = await gateway.ask('PUT /v1/admin/volumes/a.one/owner', transfer);
  assertProblem(refused, 409, 'FAILED_PRECONDITION');
  for (const dryRun of [true, false]) {
    const answer = await retire(gateway, { volumes: 'transfer', to: 'b', dryRun });
    assertProblem(answer, 409, 'FAILED_PRECONDITION');
    assert.match(String(answer.body['detail']), /^cluster "b" is retired/);
  }
  assert.equal(await statusOf(gateway), 200);
  assert.deepEqual(await statesOf(gateway), ['a.one ready']);
});

test('a volume that is created while a cluster is being retired is not left behind', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  const other = await gateway.replica();
  const late: string[] = [];
  const slow = await gateway.replica({
    checkpoint: ({ operation, point }) => {
      if (operation !== 'delete' || point !== 'before-intent') return;
      void other.create('a.late').then(
        () => late.push('created'),
        (error: unknown) => late.push(String((error as { code?: unknown }).code)),
      );
    },
  });
  assert.equal((await retire(slow, { volumes: 'delete' })).body['isRetired'], true);
  await other.operations.idle();
  assert.deepEqual(late, ['FAILED_PRECONDITION']);
  assert.deepEqual(await statesOf(gateway), []);
});

test('a gateway that dies in any step of a retirement leaves the rest to the next call', async t => {
  for (const operation of ['detach', 'transfer'])
    for (const point of ['before-intent', 'after-intent', 'after-commit', 'before-answer'] as const) {
      const gateway = await open(t);
      const dying = await gateway.replica({
        checkpoint(step) {
          if (step.operation === operation && step.point === point) throw new Error('the gateway died');
        },
      });
      const body = { volumes: 'transfer', to: 'b', force: true };
      assert.notEqual((await retire(dying, body)).body['failed'], 0, point);
      await endClaims(gateway);
      const next = await retire(gateway, body);
      assert.deepEqual([next.body['isRetired'], next.body['failed']], [true, 0], `${operation} ${point}`);
      assert.deepEqual(await statesOf(gateway), ['b.one ready', 'b.two ready'], `${operation} ${point}`);
    }
});

test('a retirement refuses an unknown cluster, a transfer to nobody or to itself, and readers', async t => {
  const gateway = await open(t);
  const unknown = { as: 'operator', body: {} };
  assertProblem(await gateway.ask('PUT /v1/admin/clusters/aa/retirement', unknown), 404, 'NOT_FOUND');
  for (const [body, detail] of [
    [{ volumes: 'transfer' }, 'body.to: is missing; give text'],
    [{ volumes: 'transfer', to: 'a' }, 'body.to: "a" is the cluster itself; name another cluster'],
    [{ volumes: 'transfer', to: 'nobody' }, 'there is no cluster "nobody"; there are "a", "b", "any"'],
    [{ volumes: 'keep', to: 'b' }, 'body.to: is not known'],
    [{ to: 'b' }, 'body.to: is not known'],
    [{ volumes: 'sell' }, 'body.volumes: must be one of "keep", "delete", "transfer"'],
  ] as const) {
    const answer = await retire(gateway, { ...body, force: true });
    assertProblem(answer, 400, 'INVALID_ARGUMENT');
    assert.equal(answer.body['detail'], detail);
  }
  const route = 'PUT /v1/admin/clusters/a/retirement';
  assert.equal((await gateway.ask(route, { as: 'reader of operators', body: {} })).status, 404);
  assert.equal(await statusOf(gateway), 200);
});

test('a gateway whose store does not answer still refuses the clusters that it knows as retired', async t => {
  let isDown = false;
  const gateway = await openGateway(t, {
    retiredEveryMs: 0,
    wrapEngine: engine => ({
      ...engine,
      reader: {
        all: (sql, ...values) =>
          isDown && sql.includes('closures')
            ? Promise.reject(new Error('down'))
            : engine.reader.all(sql, ...values),
      },
    }),
  });
  await retire(gateway);
  assert.deepEqual([await statusOf(gateway), await statusOf(gateway, 'b')], [401, 200]);
  isDown = true;
  assert.deepEqual([await statusOf(gateway), await statusOf(gateway, 'b')], [401, 200]);
});

/** Opens a gateway with the volumes a.one and a.two, the snapshots a.cut and a.more, and the group a.both of two. */
async function openCut(t: TestContext) {
  const gateway = await openGateway(t, { volumes: ['one', 'two'] });
  for (const name of ['cut', 'more']) await gateway.snapshot(`a.${name}`, 'a.one');
  await gateway.groups.create(a, 'a.both', { name: 'both', volumeIds: ['a.one', 'a.two'] });
  return gateway;
}

test('a retirement keeps the snapshots and groups of the cluster and lists them, or deletes them before its volumes', async t => {
  const gateway = await openCut(t);
  const kept = await retire(gateway, { volumes: 'keep', dryRun: true });
  assert.deepEqual(stepsOf(kept).toSorted(), [
    'keep a.both planned',
    'keep a.cut planned',
    'keep a.more planned',
    'keep a.one planned',
    'keep a.two planned',
  ]);
  assert.equal(kept.body['snapshots'], 4);
  const body = { volumes: 'transfer', to: 'b', snapshots: 'delete' };
  const planned = await retire(gateway, { ...body, dryRun: true });
  assert.deepEqual((await snapshotsIn(gateway.backend)).length, 4);
  const done = await retire(gateway, body);
  assert.deepEqual(
    stepsOf(done),
    stepsOf(planned).map(step => String(step).replace('planned', 'done')),
  );
  const [last, ...volumes] = stepsOf(done).slice(2);
  assert.match(String(last), /^delete a\.(both|cut|more) done$/);
  assert.deepEqual(volumes, ['transfer a.one done', 'transfer a.two done']);
  assert.deepEqual([await snapshotsIn(gateway.backend), done.body['snapshots']], [[], 0]);
});

test('a snapshot that a copy needs fails its step, and a dry run foresees it', async t => {
  const gateway = await openCut(t);
  const resume = gateway.backend.hold('create');
  const source = { kind: 'snapshot', snapshotId: 'a.cut' } as const;
  const copying = gateway.create('a.copy', { source });
  await gateway.backend.entered('create');
  for (const dryRun of [true, false]) {
    const { body } = await retire(gateway, { snapshots: 'delete', dryRun });
    assert.match(JSON.stringify(body['steps']), /"failed","note":"snapshot \\"a\.cut\\" is in use: volume/);
  }
  resume();
  await copying;
});

const isUnfinished = async ({ ask }: Pick<Gateway, 'ask'>): Promise<boolean> => {
  const { body } = await ask('GET /v1/admin/clusters?id=a', { as: 'operator' });
  return (body['clusters'] as { isRetirementUnfinished?: true }[])[0]?.isRetirementUnfinished === true;
};

test('a retirement is unfinished after a failed step or a crash, until all its steps are done or it is ended', async t => {
  const gateway = await open(t);
  await gateway.create('b.two');
  const body = { volumes: 'transfer', to: 'b', force: true };
  assert.equal((await retire(gateway, { ...body, dryRun: true })).body['failed'], 1);
  assert.equal((await retire(gateway)).body['isRetired'], false);
  assert.equal(await isUnfinished(gateway), false);
  assert.equal((await retire(gateway, body)).body['failed'], 1);
  assert.equal(await isUnfinished(gateway), true);
  await retire(gateway, { dryRun: true });
  assert.equal(await isUnfinished(gateway), true);
  await retire(gateway, { end: true });
  assert.equal(await isUnfinished(gateway), false);
  assert.equal((await retire(gateway, body)).body['failed'], 1);
  await gateway.volumes.delete(a, 'a.two');
  assert.equal((await retire(gateway, body)).body['failed'], 0);
  assert.equal(await isUnfinished(gateway), false);
});

async function logged({ ask }: Pick<Gateway, 'ask'>, resource: string): Promise<readonly string[]> {
  const { body } = await ask(`GET /v1/admin/audit-log?resource=${resource}`, { as: 'operator' });
  return (body['entries'] as { operation: string; code: string; count?: number }[]).map(
    ({ operation, code, count = 1 }) => `${operation} ${code} ${count}`,
  );
}

test('each refused retirement is in the audit log once, also of a reader and with a wrong option, and no dry run is', async t => {
  const gateway = await open(t);
  const route = 'PUT /v1/admin/clusters/a/retirement';
  await retire(gateway, { volumes: 'transfer', to: 'nobody', dryRun: true });
  assert.deepEqual(await logged(gateway, 'a'), []);
  await retire(gateway);
  assert.deepEqual(await logged(gateway, 'a'), ['retire FAILED_PRECONDITION 1']);
  await gateway.ask(route, { as: 'reader of operators', body: {} });
  await retire(gateway, { volumes: 'sell' });
  await retire(gateway, { volumes: 'transfer', to: 'nobody' });
  assert.deepEqual(await logged(gateway, 'a'), [
    'retire INVALID_ARGUMENT 2',
    'retire NOT_FOUND 1',
    'retire FAILED_PRECONDITION 1',
  ]);
  await gateway.ask('PUT /v1/admin/clusters/aa/retirement', { as: 'operator', body: {} });
  assert.deepEqual(await logged(gateway, 'aa'), ['retire NOT_FOUND 1']);
});
