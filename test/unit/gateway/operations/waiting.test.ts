import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { pause, poll } from '../../../../src/lib/concurrency.ts';
import { clusters, openGateway, mounted, volumeSpec, type Gateway } from '../../../harness/gateway.ts';

const shared = { accessType: 'block', accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
const use = { capability: shared, readonly: false };
const patient = { patienceMs: 60_000 };
const nodes = Array.from({ length: 12 }, (_, index) => `n${index}`);

/** Opens a gateway whose operations wait as long as a test may take, with a volume that many nodes write. */
async function open(t: TestContext, options: { readonly patienceMs: number } = patient) {
  const gateway = await openGateway(t, options);
  const { ask, backend } = gateway;
  await gateway.create('any.v', { capabilities: [shared, mounted] });
  backend.calls.length = 0;
  const attachBy =
    (asking: typeof ask) =>
    (node: string, headers: Readonly<Record<string, string>> = {}) =>
      asking(`PUT /v1/volumes/any.v/attachments/${node}`, { as: 'any', body: use, headers });
  const detach = (node: string, signal?: AbortSignal) =>
    ask(`DELETE /v1/volumes/any.v/attachments/${node}`, { as: 'any', ...(signal && { signal }) });
  const snapshot = (name: string) =>
    ask(`PUT /v1/snapshots/any.${name}`, { as: 'any', body: { name, volumeId: 'any.v', parameters: {} } });
  return {
    ...gateway,
    attach: attachBy(ask),
    attachBy,
    detach,
    snapshot,
    untilQuiet: watchStore(t, gateway),
  };
}

/**
 * Returns a function that waits until all requests have come to the point where they wait, however slow the machine is:
 * until five looks in a row find that the store was not asked meanwhile.
 */
function watchStore(t: TestContext, { engine }: Pick<Gateway, 'engine'>): () => Promise<void> {
  const { mock: reads } = t.mock.method(engine.reader, 'all');
  const { mock: writes } = t.mock.method(engine, 'transaction');
  return async () => {
    let asked = -1;
    for (let quiet = 0; quiet < 5; quiet++) {
      await pause(20);
      const now = reads.callCount() + writes.callCount();
      if (now !== asked) quiet = 0;
      asked = now;
    }
  };
}

const statusOf = ({ status }: { readonly status: number }): number => status;

test('nodes that attach one volume at once all get it, one after the other, and detach it likewise', async t => {
  const { attach, detach, backend } = await open(t);
  const attached = await Promise.all(nodes.map(node => attach(node)));
  assert.deepEqual(new Set(attached.map(statusOf)), new Set([201]));
  const detached = await Promise.all(nodes.map(node => detach(node)));
  assert.deepEqual(new Set(detached.map(statusOf)), new Set([204]));
  assert.equal(backend.calls.length, 2 * nodes.length);
});

test('nodes that attach one volume over two replicas at once all get it', async t => {
  const gateway = await open(t);
  const other = gateway.attachBy((await gateway.replica()).ask);
  const all = nodes.map((node, index) => (index % 2 === 0 ? gateway.attach : other)(node));
  assert.deepEqual(new Set((await Promise.all(all)).map(statusOf)), new Set([201]));
});

test('a snapshot waits for an attach of its volume, and a detach for the snapshot', async t => {
  const { attach, detach, snapshot, backend, untilQuiet } = await open(t);
  const release = backend.hold('attach');
  const first = attach('n1');
  await backend.entered('attach');
  const all = [first, snapshot('s'), detach('n1')];
  await untilQuiet();
  assert.equal(backend.calls.length, 1);
  release();
  for (const { status } of await Promise.all(all)) assert.ok(status < 300);
  assert.equal(backend.calls.length, 3);
});

test('an equal operation joins a waiting one, and both are done once', async t => {
  const { attach, snapshot, backend, untilQuiet } = await open(t);
  const release = backend.hold('snapshot');
  const first = snapshot('s');
  await backend.entered('snapshot');
  const all = [attach('n1'), attach('n1'), attach('n1')];
  await untilQuiet();
  release();
  await first;
  assert.deepEqual((await Promise.all(all)).map(statusOf), [201, 201, 201]);
  assert.equal(backend.calls.filter(call => call.startsWith('attach')).length, 1);
});

test('a repeated operation is done again after the one that undoes it', async t => {
  const { attach, detach, backend, ask, untilQuiet } = await open(t);
  const [created, modified] = ['/v1/volumes/any.w', '/v1/volumes/any.v/parameters'];
  const create = () => ask(`PUT ${created}`, { as: 'any', body: volumeSpec('w') });
  const modify = (tier: string) =>
    ask(`PUT ${modified}`, { as: 'any', body: { mutableParameters: { tier } } });
  const cases = [
    { held: 'attach', act: () => attach('n1'), undo: () => detach('n1'), statuses: [201, 204, 201] },
    {
      held: 'create',
      act: create,
      undo: () => ask(`DELETE ${created}`, { as: 'any' }),
      statuses: [201, 204, 201],
    },
    { held: 'modify', act: () => modify('fast'), undo: () => modify('standard'), statuses: [200, 200, 200] },
  ] as const;
  for (const { held, act, undo, statuses } of cases) {
    const release = backend.hold(held);
    const answers: Promise<{ readonly status: number }>[] = [act()];
    await backend.entered(held);
    for (const next of [undo, act]) {
      answers.push(next());
      await untilQuiet();
    }
    release();
    assert.deepEqual((await Promise.all(answers)).map(statusOf), statuses, held);
  }
  const { status } = await ask('GET /v1/volumes/any.v/attachments/n1', { as: 'any' });
  assert.equal(status, 200);
  assert.equal((await ask(`GET ${created}`, { as: 'any' })).status, 200);
  const { body } = await ask('GET /v1/volumes/any.v', { as: 'any' });
  assert.deepEqual(body['mutableParameters'], { tier: 'fast' });
});

test('an operation joins an equal one even if others of other nodes wait behind that', async t => {
  const { attach, detach, backend, untilQuiet } = await open(t);
  await attach('n2');
  const release = backend.hold('attach');
  const first = attach('n1');
  await backend.entered('attach');
  const others = [attach('n3'), detach('n2')];
  await untilQuiet();
  const again = attach('n1');
  await untilQuiet();
  release();
  assert.deepEqual((await Promise.all([first, again, ...others])).map(statusOf), [201, 201, 201, 204]);
  assert.equal(backend.calls.length, 4);
});

test('an operation that times out while it waits is ABORTED in time and names the running one', async t => {
  for (const [patienceMs, headers] of [
    [30, {}],
    [60_000, { 'x-timeout-ms': '60' }],
  ] as const) {
    const { attach, backend } = await open(t, { patienceMs });
    const release = backend.hold('attach');
    const first = attach('n1');
    await backend.entered('attach');
    const { body } = await attach('n2', headers);
    assert.equal(body['code'], 'ABORTED');
    assert.match(
      String(body['detail']),
      /^volume "any\.v" is busy: attach has been running since \d{4}-\d\d-\d\dT/,
    );
    release();
    assert.equal((await first).status, 201);
    assert.equal((await attach('n2')).status, 201);
  }
});

test('work of another replica is awaited, and ABORTED in time', async t => {
  const gateway = await open(t, { patienceMs: 300 });
  const other = gateway.attachBy((await gateway.replica()).ask);
  const release = gateway.backend.hold('attach');
  const first = gateway.attach('n1');
  await gateway.backend.entered('attach');
  const { body } = await other('n2');
  assert.equal(body['code'], 'ABORTED');
  const waiting = other('n2');
  release();
  assert.deepEqual((await Promise.all([first, waiting])).map(statusOf), [201, 201]);
});

test('an operation that is ABORTED behind a waiting one names that one', async t => {
  const { attach, snapshot, ask, backend, untilQuiet } = await open(t);
  const release = backend.hold('attach');
  const first = attach('n1');
  await backend.entered('attach');
  const waiting = snapshot('s');
  await untilQuiet();
  const headers = { 'x-timeout-ms': '60' };
  const { body } = await ask('DELETE /v1/snapshots/any.s', { as: 'any', headers });
  assert.equal(body['code'], 'ABORTED');
  assert.match(String(body['detail']), /^snapshot "any\.s" is busy: \S+ has been waiting since \d{4}-/);
  release();
  assert.deepEqual((await Promise.all([first, waiting])).map(statusOf), [201, 201]);
});

test('a detach whose caller disconnects while it waits is not done', async t => {
  const { attach, detach, backend, untilQuiet } = await open(t);
  await attach('n1');
  const release = backend.hold('attach');
  const first = attach('n2');
  await backend.entered('attach');
  const caller = new AbortController();
  const gone = detach('n1', caller.signal).catch(() => {});
  await untilQuiet();
  caller.abort();
  release();
  await first;
  await gone;
  assert.equal((await attach('n1')).status, 200);
  assert.equal(backend.calls.filter(call => call.startsWith('detach')).length, 0);
});

test('a failure of the running operation lets the next one begin', async t => {
  const { attach, backend, untilQuiet } = await open(t);
  backend.failNext('attach', 'before', new Error('the storage is busy'));
  const release = backend.hold('attach');
  const first = attach('n1');
  await backend.entered('attach');
  const second = attach('n2');
  await untilQuiet();
  release();
  assert.deepEqual((await Promise.all([first, second])).map(statusOf), [503, 201]);
});

test('a cluster that shares a volume waits for few operations of another cluster, because waiting operations are bounded', async t => {
  const gateway = await openGateway(t, patient);
  const { ask, backend, nodes: reported } = gateway;
  const untilQuiet = watchStore(t, gateway);
  const body = volumeSpec('v', { capabilities: [shared] });
  assert.equal((await ask('PUT /v1/volumes/a.v', { body })).status, 201);
  const grant = { as: 'operator', body: { access: 'read-write' } };
  assert.equal((await ask('PUT /v1/admin/volumes/a.v/grants/any', grant)).status, 200);
  for (const node of ['n1', 'n2']) await reported.put(clusters.a, node, {});
  const [ended, refused]: [string[], string[]] = [[], []];
  // A body of unknown length counts as a large one.
  const headers = { 'content-length': `${JSON.stringify(use).length}` };
  const attach = async (as: string, node: string): Promise<void> => {
    const { status } = await ask(`PUT /v1/volumes/a.v/attachments/${node}`, { as, body: use, headers });
    (status === 201 ? ended : refused).push(node);
  };
  const release = backend.hold('attach');
  const first = attach('a', 'n1');
  await backend.entered('attach');
  const many = Array.from({ length: 150 }, (_, index) => attach('any', `m${index}`));
  await poll(() => refused.length === many.length - 128 || undefined, { everyMs: 10, timeoutMs: 10_000 });
  const second = attach('a', 'n2');
  await untilQuiet();
  release();
  await Promise.all([first, second, ...many]);
  assert.ok(ended.indexOf('n2') <= 3, ended.slice(0, 5).join());
  assert.deepEqual([ended.length, refused.length], [2 + 128, many.length - 128]);
});

test('a detach of a node without an attachment is answered while other operations of the volume run and wait', async t => {
  const { attach, detach, backend, ask, untilQuiet } = await open(t, { patienceMs: 10_000 });
  const grant = { as: 'any', body: { access: 'read-write' } };
  assert.equal((await ask('PUT /v1/volumes/any.v/grants/b', grant)).status, 200);
  const release = backend.hold('attach');
  const first = attach('n1');
  await backend.entered('attach');
  const second = attach('n2');
  await untilQuiet();
  assert.equal((await detach('n3')).status, 204);
  // The cluster never accepted the grant; the nodes of this name belong to another cluster.
  const byOther = await ask('DELETE /v1/volumes/any.v/attachments/n1', { as: 'b' });
  assert.equal(byOther.status, 204);
  const ended: string[] = [];
  const waiting = ['n1', 'n2'].map(async node => {
    assert.equal((await detach(node)).status, 204);
    ended.push(node);
  });
  await untilQuiet();
  assert.deepEqual(ended, [], 'a volume whose attach runs or waits is not detached');
  release();
  await Promise.all([first, second, ...waiting]);
  assert.equal(backend.calls.filter(call => call.startsWith('detach')).length, 2);
});
