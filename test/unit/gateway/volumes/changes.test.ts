import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { pause } from '../../../../src/lib/concurrency.ts';
import { Problem } from '../../../../src/api/problem.ts';
import {
  clusters,
  assertProblem,
  openGateway,
  mounted,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway.ts';

const mebibyte = 2 ** 20;
const { a } = clusters;
const id = 'a.pvc-1';

const expand = ({ changes }: Gateway, requiredBytes = 3 * mebibyte, limitBytes = 0) =>
  changes.expand(a, id, { requiredBytes, limitBytes });
const modify = ({ changes }: Gateway, parameters: Record<string, string> = { tier: 'fast' }) =>
  changes.modify(a, id, parameters);

/** The tests that apply to expansions and modifications alike, with the request of each for a fresh volume. */
const kinds = [
  {
    kind: 'expansion',
    method: 'expand',
    route: `PUT /v1/volumes/${id}/size`,
    body: { requiredBytes: 3 * mebibyte },
    change: expand,
    another: (gateway: Gateway) => expand(gateway, 4 * mebibyte),
    done: [3 * mebibyte, undefined],
  },
  {
    kind: 'modification',
    method: 'modify',
    route: `PUT /v1/volumes/${id}/parameters`,
    body: { mutableParameters: { tier: 'fast' } },
    change: modify,
    another: (gateway: Gateway) => modify(gateway, { tier: 'standard' }),
    done: [mebibyte, { tier: 'fast' }],
  },
] as const;

for (const { kind, method, route, body, change, another, done } of kinds) {
  const show = async ({ volumes }: Gateway) => {
    const { sizeBytes, mutableParameters, pending } = await volumes.get(a, id);
    return { is: [sizeBytes, mutableParameters], pending };
  };
  const untouched = { is: [mebibyte, undefined], pending: undefined };

  for (const moment of ['before', 'after'] as const)
    test(`ten answers that are lost ${moment} the storage commits make one ${kind}, which a retry or the sweep finishes`, async t => {
      for (const finish of [change, ({ recovery }: Gateway) => recovery.sweep()]) {
        const gateway = await openGateway(t, { volumes: ['pvc-1'] });
        for (let i = 0; i < 10; i++) {
          gateway.backend.failNext(method, moment, new Error('the answer was lost'));
          await assert.rejects(change(gateway), { code: 'UNAVAILABLE' });
          assert.deepEqual((await show(gateway)).pending, [kind]);
        }
        await finish(gateway);
        assert.deepEqual(await show(gateway), { is: done, pending: undefined });
        assert.equal(await gateway.recovery.sweep(), 0);
      }
    });

  test(`a ${kind} that the storage refuses changes nothing and leaves nothing to finish`, async t => {
    const gateway = await openGateway(t, { volumes: ['pvc-1'] });
    gateway.backend.failNext(method, 'before', new Problem('INVALID_ARGUMENT', 'not for this volume'));
    await assert.rejects(change(gateway), { code: 'INVALID_ARGUMENT' });
    assert.deepEqual(await show(gateway), untouched);
    assert.equal(await gateway.recovery.sweep(), 0);
  });

  test(`an equal ${kind} joins the running one, also over the route; any other is ABORTED`, async t => {
    const gateway = await openGateway(t, { volumes: ['pvc-1'] });
    const { volumes, backend, ask } = gateway;
    const release = backend.hold(method);
    const headers = { prefer: 'wait=0' };
    assert.equal((await ask(route, { body, headers })).status, 202);
    await backend.entered(method);
    const early = await ask(route, { body, headers });
    assert.deepEqual([early.status, early.body['pending']], [202, [kind]]);
    const busy = {
      code: 'ABORTED',
      detail: new RegExp(`volume "a.pvc-1" is busy: ${method} has been running since`),
    };
    await assert.rejects(another(gateway), busy);
    await assert.rejects(volumes.delete(a, id), busy);
    await assert.rejects(gateway.attach(id), busy);
    const same = Array.from({ length: 5 }, () => ask(route, { body }));
    await pause(20);
    release();
    for (const { status } of await Promise.all(same)) assert.equal(status, 200);
    assert.deepEqual(await show(gateway), { is: done, pending: undefined });
    assert.deepEqual(backend.calls, [`${method} ${id}`]);
  });

  test(`the ${kind} of an unknown volume is NOT_FOUND, and without a pool that offers it UNIMPLEMENTED`, async t => {
    const { ask } = await openGateway(t, { volumes: ['pvc-1'] });
    assertProblem(await ask(route.replace('pvc-1', 'never'), { body }), 404, 'NOT_FOUND');
    const own = { expand: undefined, modification: undefined };
    const { ask: askOther } = await openGateway(t, { own });
    assertProblem(await askOther(route, { body }), 501, 'UNIMPLEMENTED');
  });
}

test('a volume is expanded once, never shrinks, and repeating or requesting less changes nothing', async t => {
  const gateway = await openGateway(t, { volumes: ['pvc-1'] });
  const grown = await expand(gateway);
  assert.deepEqual([grown.sizeBytes, grown.nodeExpansionRequired], [3 * mebibyte, true]);
  for (const requiredBytes of [3 * mebibyte, mebibyte, 0])
    assert.deepEqual(await expand(gateway, requiredBytes), grown);
  const below = expand(gateway, mebibyte, 2 * mebibyte);
  await assert.rejects(below, { code: 'OUT_OF_RANGE', detail: /has 3145728 bytes, more than the limit/ });
  await assert.rejects(expand(gateway, 2, 1), { code: 'INVALID_ARGUMENT' });
  assert.deepEqual(gateway.backend.calls, [`expand ${id}`]);
});

test('an attached volume is expanded; its attachments stay the same, and later ones have the new size', async t => {
  const gateway = await openGateway(t, { volumes: ['pvc-1'] });
  const { attachment: before } = await gateway.attach(id);
  await expand(gateway);
  assert.deepEqual((await gateway.attach(id)).attachment, before);
  await gateway.detach(id);
  const { attachment: after } = await gateway.attach(id);
  assert.deepEqual([before.attachment?.sizeBytes, after.attachment?.sizeBytes], [mebibyte, 3 * mebibyte]);
});

test('an expansion that may have succeeded is not forgotten when a larger one is refused', async t => {
  const gateway = await openGateway(t, { volumes: ['pvc-1'] });
  gateway.backend.failNext('expand', 'after', new Error('the answer was lost'));
  await assert.rejects(expand(gateway));
  gateway.backend.failNext('expand', 'before', new Problem('RESOURCE_EXHAUSTED', 'it is full'));
  await assert.rejects(expand(gateway, 9 * mebibyte));
  assert.deepEqual((await gateway.volumes.get(a, id)).pending, ['expansion']);
  await gateway.recovery.sweep();
  assert.equal((await gateway.volumes.get(a, id)).sizeBytes, 3 * mebibyte);
});

test('a storage that reports less than requested is not believed', async t => {
  const expanding = async () => ({ sizeBytes: mebibyte, nodeExpansionRequired: false });
  const gateway = await openGateway(t, { own: { expand: expanding }, volumes: ['pvc-1'] });
  await assert.rejects(expand(gateway), { code: 'UNAVAILABLE' });
  assert.equal((await gateway.volumes.get(a, id)).sizeBytes, mebibyte);
});

test('pending work that newer settings refuse is undone by the sweep, with its reservation', async t => {
  const before = await openGateway(t, { volumes: ['pvc-1'], capacity: 10 * mebibyte });
  for (const { method, change } of kinds) {
    before.backend.failNext(method, 'before', new Error('unreachable'));
    await assert.rejects(change(before));
  }
  assert.deepEqual((await before.volumes.get(a, id)).pending, ['expansion', 'modification']);
  const { expand: _, modification: __, ...lesser } = before.backend;
  const after = await before.replica({ backend: lesser });
  await after.recovery.sweep();
  assert.equal((await after.volumes.get(a, id)).pending, undefined);
  assert.equal((await after.capacities.find(a, {})).availableBytes, 9 * mebibyte);
});

/** Opens a gateway with a volume that was created with a label. */
async function openLabelled(t: TestContext) {
  const gateway = await openGateway(t);
  const create = (label: string) => gateway.create(id, { mutableParameters: { label } });
  await create('first');
  return { ...gateway, create };
}

test('named parameters change, the others stay, and repeating does nothing', async t => {
  const gateway = await openLabelled(t);
  const modified = await modify(gateway);
  assert.deepEqual(modified.mutableParameters, { label: 'first', tier: 'fast' });
  for (const parameters of [{ tier: 'fast' }, {}])
    assert.deepEqual(await modify(gateway, parameters), modified);
  assert.deepEqual(gateway.backend.calls, [`create ${id}`, `modify ${id}`]);
  for (const parameters of [{ colour: 'red' }, { tier: 'slow' }])
    await assert.rejects(modify(gateway, parameters), { code: 'INVALID_ARGUMENT' });
  assert.deepEqual(await gateway.volumes.get(a, id), modified);
});

test('a modified volume is still the one of its first request', async t => {
  const gateway = await openLabelled(t);
  await modify(gateway, { label: 'second' });
  assert.equal((await gateway.create('first')).created, false);
  await assert.rejects(gateway.create('other'), { code: 'ALREADY_EXISTS' });
});

test('a modification that may have succeeded is finished together with the next one', async t => {
  const gateway = await openLabelled(t);
  gateway.backend.failNext('modify', 'after', new Error('the answer was lost'));
  await assert.rejects(modify(gateway));
  const { mutableParameters } = await modify(gateway, { label: 'second' });
  assert.deepEqual(mutableParameters, { tier: 'fast', label: 'second' });
});

test('impossible mutable parameters are refused at once, and in a validation too', async t => {
  const { volumes } = await openLabelled(t);
  const colour = { mutableParameters: { colour: 'red' } };
  await assert.rejects(volumes.create(a, 'a.pvc-2', volumeSpec('pvc-2', colour)), {
    code: 'INVALID_ARGUMENT',
  });
  const validate = async (spec: object) =>
    (await volumes.validate(a, id, { capabilities: [mounted], ...spec })).confirmed;
  assert.equal(await validate(colour), false);
  assert.equal(await validate({ mutableParameters: { tier: 'fast' } }), true);
  const other = await openGateway(t, { own: { modification: undefined } });
  const tier = { mutableParameters: { tier: 'fast' } };
  await assert.rejects(other.create('a.pvc-2', tier), { code: 'INVALID_ARGUMENT' });
});
