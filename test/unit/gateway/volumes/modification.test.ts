import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../../../src/api/problem.ts';
import { createFaultyBackend, type Moment } from '../faulty-backend.ts';
import {
  clusters,
  assertProblem,
  makeGateway,
  openMemory,
  volumeSpec,
} from '../../../harness/gateway-harness.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';

const id = 'a.pvc-1';
const route = `PUT /v1/volumes/${id}/parameters`;

async function makeFaulty(t: Parameters<typeof makeGateway>[0]) {
  const backend = createFaultyBackend(await openMemory());
  const gateway = await makeGateway(t, { backend });
  const spec = volumeSpec('pvc-1', { mutableParameters: { label: 'first' } });
  await gateway.volumes.create(clusters.a, id, spec);
  return { ...gateway, backend };
}

test('what is named changes, what is not named stays, and asking again does nothing', async t => {
  const { changes, backend } = await makeFaulty(t);
  const modified = await changes.modify(clusters.a, id, { tier: 'fast' });
  assert.deepEqual(modified.mutableParameters, { label: 'first', tier: 'fast' });
  assert.deepEqual(await changes.modify(clusters.a, id, { tier: 'fast' }), modified);
  assert.deepEqual(await changes.modify(clusters.a, id, {}), modified);
  assert.deepEqual(
    backend.calls.filter(call => call.startsWith('modify')),
    [`modify ${id}`],
  );
});

test('a volume that was modified is still the one that was asked for at first', async t => {
  const { changes, volumes } = await makeFaulty(t);
  await changes.modify(clusters.a, id, { label: 'second' });
  const spec = volumeSpec('pvc-1', { mutableParameters: { label: 'first' } });
  assert.equal((await volumes.create(clusters.a, id, spec)).created, false);
  const other = volumeSpec('pvc-1', { mutableParameters: { label: 'other' } });
  await assert.rejects(volumes.create(clusters.a, id, other), isProblem('ALREADY_EXISTS'));
});

for (const moment of ['before', 'after'] as const satisfies readonly Moment[]) {
  test(`a modification whose answer was lost ${moment} the storage commits is finished by the sweep`, async t => {
    const { changes, volumes, recovery, backend } = await makeFaulty(t);
    backend.failNext('modify', moment, new Error('the answer was lost'));
    await assert.rejects(changes.modify(clusters.a, id, { tier: 'fast' }), isProblem('UNAVAILABLE'));
    assert.deepEqual((await volumes.get(clusters.a, id)).pending, ['modification']);
    assert.equal(await recovery.sweep(), 1);
    const { mutableParameters, pending } = await volumes.get(clusters.a, id);
    assert.deepEqual([mutableParameters, pending], [{ label: 'first', tier: 'fast' }, undefined]);
    assert.equal(await recovery.sweep(), 0);
  });
}

test('a modification that the storage refuses changes nothing and leaves nothing to finish', async t => {
  const { changes, volumes, recovery, backend } = await makeFaulty(t);
  backend.failNext('modify', 'before', new Problem('INVALID_ARGUMENT', 'tier: not for this volume'));
  await assert.rejects(changes.modify(clusters.a, id, { tier: 'fast' }), isProblem('INVALID_ARGUMENT'));
  const { mutableParameters, pending } = await volumes.get(clusters.a, id);
  assert.deepEqual([mutableParameters, pending], [{ label: 'first' }, undefined]);
  assert.equal(await recovery.sweep(), 0);
});

test('a modification that may have been done is finished together with the next', async t => {
  const { changes, backend } = await makeFaulty(t);
  backend.failNext('modify', 'after', new Error('the answer was lost'));
  await assert.rejects(changes.modify(clusters.a, id, { tier: 'fast' }));
  const { mutableParameters } = await changes.modify(clusters.a, id, { label: 'second' });
  assert.deepEqual(mutableParameters, { tier: 'fast', label: 'second' });
});

test('the same modification joins the one that runs, another is ABORTED', async t => {
  const { changes, backend } = await makeFaulty(t);
  const release = backend.hold('modify');
  const same = Array.from({ length: 5 }, () => changes.modify(clusters.a, id, { tier: 'fast' }));
  await backend.entered('modify');
  const busy = isProblemThat('ABORTED', /is busy: modify runs since/);
  await assert.rejects(changes.modify(clusters.a, id, { tier: 'standard' }), busy);
  release();
  await Promise.all(same);
  assert.equal(backend.calls.filter(call => call.startsWith('modify')).length, 1);
});

const refused = [
  { what: 'an unknown parameter', body: { mutableParameters: { colour: 'red' } } },
  { what: 'a bad value', body: { mutableParameters: { tier: 'slow' } } },
  { what: 'no parameters', body: {} },
  { what: 'parameters that are no text', body: { mutableParameters: { tier: 1 } } },
  { what: 'an unknown field', body: { mutableParameters: {}, force: true } },
];
for (const { what, body } of refused) {
  test(`the route refuses ${what} and changes nothing`, async t => {
    const { ask, backend } = await makeFaulty(t);
    assertProblem(await ask(route, { body }), 400, 'INVALID_ARGUMENT');
    assert.ok(!backend.calls.some(call => call.startsWith('modify')));
    const { body: volume } = await ask(`GET /v1/volumes/${id}`);
    assert.deepEqual(volume['mutableParameters'], { label: 'first' });
  });
}

test('createVolume refuses an unknown mutable parameter, and any where there are none', async t => {
  const { volumes } = await makeFaulty(t);
  const colour = volumeSpec('pvc-2', { mutableParameters: { colour: 'red' } });
  await assert.rejects(volumes.create(clusters.a, 'a.pvc-2', colour), isProblem('INVALID_ARGUMENT'));
  const { modification: _, ...without } = await openMemory();
  const other = await makeGateway(t, { backend: without });
  const tier = volumeSpec('pvc-2', { mutableParameters: { tier: 'fast' } });
  await assert.rejects(other.volumes.create(clusters.a, 'a.pvc-2', tier), isProblem('INVALID_ARGUMENT'));
  assertProblem(await other.ask(route, { body: { mutableParameters: {} } }), 501, 'UNIMPLEMENTED');
});

test("an unknown volume and another cluster's are not there", async t => {
  const { ask } = await makeFaulty(t);
  const body = { mutableParameters: { tier: 'fast' } };
  assertProblem(await ask(route, { as: 'b', body }), 404, 'NOT_FOUND');
  assertProblem(await ask('PUT /v1/volumes/a.never/parameters', { body }), 404, 'NOT_FOUND');
});

test('validateVolume tells whether mutable parameters can be had', async t => {
  const { volumes } = await makeFaulty(t);
  const { capabilities } = volumeSpec('x');
  const ask = (mutableParameters: Record<string, string>): ReturnType<typeof volumes.validate> =>
    volumes.validate(clusters.a, id, { capabilities, mutableParameters });
  assert.equal((await ask({ tier: 'fast' })).confirmed, true);
  assert.equal((await ask({ colour: 'red' })).confirmed, false);
});
