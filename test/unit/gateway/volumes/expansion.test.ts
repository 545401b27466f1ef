import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Problem } from '../../../../src/api/problem.ts';
import { createFaultyBackend, type Moment } from '../faulty-backend.ts';
import {
  clusters,
  assertProblem,
  makeGateway,
  mounted,
  openMemory,
  temporaryDirectory,
  volumeSpec,
} from '../../../harness/gateway-harness.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';

const mebibyte = 2 ** 20;
const id = 'a.pvc-1';
const attachmentKey = { cluster: { ...clusters.a, acceptAnyNode: true }, volumeId: id, nodeId: 'n1' };

async function makeFaulty(t: Parameters<typeof makeGateway>[0], spaceBytes?: number) {
  const backend = createFaultyBackend(await openMemory(spaceBytes));
  const gateway = await makeGateway(t, { backend });
  await gateway.volumes.create(clusters.a, id, volumeSpec('pvc-1'));
  return { ...gateway, backend };
}

test('a volume grows once, and asking again or for less changes nothing', async t => {
  const { changes, backend } = await makeFaulty(t);
  const grown = await changes.expand(clusters.a, id, { requiredBytes: 3 * mebibyte });
  assert.equal(grown.sizeBytes, 3 * mebibyte);
  assert.equal(grown.nodeExpansionRequired, true);
  assert.equal(grown.pending, undefined);
  for (const requiredBytes of [3 * mebibyte, mebibyte, 0])
    assert.deepEqual(await changes.expand(clusters.a, id, { requiredBytes }), grown);
  assert.deepEqual(
    backend.calls.filter(call => call.startsWith('expand')),
    [`expand ${id}`],
  );
});

test('a limit below the size is OUT_OF_RANGE: a volume never shrinks', async t => {
  const { changes, volumes } = await makeFaulty(t);
  await changes.expand(clusters.a, id, { requiredBytes: 3 * mebibyte });
  const work = changes.expand(clusters.a, id, { requiredBytes: mebibyte, limitBytes: 2 * mebibyte });
  await assert.rejects(work, isProblemThat('OUT_OF_RANGE', /has 3145728 bytes, more than the limit/));
  assert.equal((await volumes.get(clusters.a, id)).sizeBytes, 3 * mebibyte);
});

test('a volume that is attached grows; what is attached stays the same, what comes later has the new size', async t => {
  const { changes, attachments } = await makeFaulty(t);
  const spec = { capability: mounted, readonly: false };
  const { attachment: before } = await attachments.attach(attachmentKey, spec);
  await changes.expand(clusters.a, id, { requiredBytes: 3 * mebibyte });
  assert.deepEqual((await attachments.attach(attachmentKey, spec)).attachment, before);
  await attachments.detach(attachmentKey);
  const { attachment: after } = await attachments.attach(attachmentKey, spec);
  assert.equal(before.attachment?.sizeBytes, mebibyte);
  assert.equal(after.attachment?.sizeBytes, 3 * mebibyte);
});

for (const moment of ['before', 'after'] as const satisfies readonly Moment[]) {
  test(`ten answers that are lost ${moment} the storage commits, and retries, grow the volume once`, async t => {
    const { changes, volumes, backend } = await makeFaulty(t);
    const spec = { requiredBytes: 3 * mebibyte };
    for (let i = 0; i < 10; i++) backend.failNext('expand', moment, new Error('the answer was lost'));
    for (let i = 0; i < 10; i++) {
      await assert.rejects(changes.expand(clusters.a, id, spec), isProblem('UNAVAILABLE'));
      assert.deepEqual((await volumes.get(clusters.a, id)).pending, ['expansion']);
    }
    assert.equal((await changes.expand(clusters.a, id, spec)).sizeBytes, 3 * mebibyte);
    assert.equal((await volumes.get(clusters.a, id)).pending, undefined);
  });

  test(`an expansion whose answer was lost ${moment} the storage commits is finished by the sweep`, async t => {
    const { changes, volumes, recovery, backend } = await makeFaulty(t);
    backend.failNext('expand', moment, new Error('the answer was lost'));
    await assert.rejects(changes.expand(clusters.a, id, { requiredBytes: 3 * mebibyte }));
    assert.equal(await recovery.sweep(), 1);
    const volume = await volumes.get(clusters.a, id);
    assert.deepEqual([volume.sizeBytes, volume.pending], [3 * mebibyte, undefined]);
    assert.equal(await recovery.sweep(), 0);
  });
}

test('a storage that is full leaves the volume as it was, and nothing to finish', async t => {
  const { changes, volumes, recovery } = await makeFaulty(t, 4 * mebibyte);
  await volumes.create(clusters.a, 'a.other', volumeSpec('other', { requiredBytes: 2 * mebibyte }));
  const work = changes.expand(clusters.a, id, { requiredBytes: 3 * mebibyte });
  await assert.rejects(work, isProblem('RESOURCE_EXHAUSTED'));
  const { sizeBytes, pending } = await volumes.get(clusters.a, id);
  assert.deepEqual([sizeBytes, pending], [mebibyte, undefined]);
  assert.equal(await recovery.sweep(), 0);
});

test('an expansion that may have been done is not forgotten when a larger one is refused', async t => {
  const { changes, volumes, recovery, backend } = await makeFaulty(t);
  backend.failNext('expand', 'after', new Error('the answer was lost'));
  await assert.rejects(changes.expand(clusters.a, id, { requiredBytes: 3 * mebibyte }));
  backend.failNext('expand', 'before', new Problem('RESOURCE_EXHAUSTED', 'it is full'));
  await assert.rejects(changes.expand(clusters.a, id, { requiredBytes: 9 * mebibyte }));
  assert.deepEqual((await volumes.get(clusters.a, id)).pending, ['expansion']);
  await recovery.sweep();
  assert.equal((await volumes.get(clusters.a, id)).sizeBytes, 3 * mebibyte);
});

test('a storage that tells less than was asked for is not believed', async t => {
  const inner = await openMemory();
  const expand = async (): Promise<{ sizeBytes: number; nodeExpansionRequired: boolean }> => ({
    sizeBytes: mebibyte,
    nodeExpansionRequired: false,
  });
  const { volumes, changes } = await makeGateway(t, { backend: { ...inner, expand } });
  await volumes.create(clusters.a, id, volumeSpec('pvc-1'));
  const work = changes.expand(clusters.a, id, { requiredBytes: 2 * mebibyte });
  await assert.rejects(work, isProblem('UNAVAILABLE'));
  assert.equal((await volumes.get(clusters.a, id)).sizeBytes, mebibyte);
});

test('the same expansion joins the one that runs; anything else is ABORTED', async t => {
  const { changes, volumes, attachments, backend } = await makeFaulty(t);
  const release = backend.hold('expand');
  const same = Array.from({ length: 5 }, () =>
    changes.expand(clusters.a, id, { requiredBytes: 3 * mebibyte }),
  );
  await backend.entered('expand');
  const busy = isProblemThat('ABORTED', /volume "a.pvc-1" is busy: expand runs since/);
  await assert.rejects(changes.expand(clusters.a, id, { requiredBytes: 4 * mebibyte }), busy);
  await assert.rejects(volumes.delete(clusters.a, id), busy);
  await assert.rejects(attachments.attach(attachmentKey, { capability: mounted, readonly: false }), busy);
  release();
  assert.equal(new Set((await Promise.all(same)).map(({ sizeBytes }) => sizeBytes)).size, 1);
  assert.equal(backend.calls.filter(call => call.startsWith('expand')).length, 1);
});

const refused = [
  { what: 'an unknown volume', route: 'PUT /v1/volumes/a.never/size', body: {}, code: 'NOT_FOUND' },
  { what: 'a malformed id', route: 'PUT /v1/volumes/x/size', body: {}, code: 'NOT_FOUND' },
  { what: 'a size as text', route: `PUT /v1/volumes/${id}/size`, body: { requiredBytes: '1' } },
  { what: 'an unknown field', route: `PUT /v1/volumes/${id}/size`, body: { bytes: 1 } },
  { what: 'no JSON', route: `PUT /v1/volumes/${id}/size`, body: '{' },
  {
    what: 'a limit below what is required',
    route: `PUT /v1/volumes/${id}/size`,
    body: { requiredBytes: 2, limitBytes: 1 },
  },
] as const;
for (const { what, route, body, ...row } of refused) {
  test(`the route refuses ${what}`, async t => {
    const { ask, backend } = await makeFaulty(t);
    const code = 'code' in row ? row.code : 'INVALID_ARGUMENT';
    assertProblem(await ask(route, { body }), code === 'NOT_FOUND' ? 404 : 400, code);
    assert.ok(!backend.calls.some(call => call.startsWith('expand')));
  });
}

test("another cluster's volume is not there", async t => {
  const { ask } = await makeFaulty(t);
  const body = { requiredBytes: 3 * mebibyte };
  assertProblem(await ask(`PUT /v1/volumes/${id}/size`, { as: 'b', body }), 404, 'NOT_FOUND');
  assert.equal((await ask(`GET /v1/volumes/${id}`)).body['sizeBytes'], mebibyte);
});

test('the route answers 202 with the volume while it grows, and the same call joins', async t => {
  const { ask, backend } = await makeFaulty(t);
  const release = backend.hold('expand');
  const options = { body: { requiredBytes: 3 * mebibyte }, headers: { prefer: 'wait=0' } };
  const first = await ask(`PUT /v1/volumes/${id}/size`, options);
  assert.equal(first.status, 202);
  assert.deepEqual(first.body['pending'], ['expansion']);
  release();
  const second = await ask(`PUT /v1/volumes/${id}/size`, { body: options.body });
  assert.deepEqual([second.status, second.body['sizeBytes']], [200, 3 * mebibyte]);
});

test('a backend without expansion answers UNIMPLEMENTED', async t => {
  const { expand: _, ...inner } = await openMemory();
  const { ask } = await makeGateway(t, { backend: inner });
  const body = { requiredBytes: 1 };
  assertProblem(await ask(`PUT /v1/volumes/${id}/size`, { body }), 501, 'UNIMPLEMENTED');
});

test('what is pending and refused for good by newer settings is undone by the sweep, with what it reserves', async t => {
  const store = join(temporaryDirectory(t), 'store.sqlite');
  const backend = createFaultyBackend(await openMemory(10 * mebibyte));
  const before = await makeGateway(t, { backend, store });
  await before.volumes.create(clusters.a, id, volumeSpec('pvc-1'));
  for (const method of ['expand', 'modify'] as const)
    backend.failNext(method, 'before', new Error('unreachable'));
  const { changes } = before;
  await assert.rejects(changes.expand(clusters.a, id, { requiredBytes: 3 * mebibyte }));
  await assert.rejects(changes.modify(clusters.a, id, { tier: 'fast' }));
  assert.deepEqual((await before.volumes.get(clusters.a, id)).pending, ['expansion', 'modification']);

  const { expand: _, modification: __, ...lesser } = backend;
  const after = await makeGateway(t, { backend: lesser, store });
  await after.recovery.sweep();
  assert.equal((await after.volumes.get(clusters.a, id)).pending, undefined);
  assert.equal((await after.capacities.find(clusters.a, {})).availableBytes, 9 * mebibyte);
});
