import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Problem, type ProblemCode } from '../../../../src/api/problem.ts';
import { createFaultyBackend, type Moment } from '../faulty-backend.ts';
import {
  clusters,
  makeGateway,
  mounted,
  openMemory,
  temporaryDirectory,
  volumeSpec,
} from '../../../harness/gateway-harness.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';

const mebibyte = 2 ** 20;

test('createVolume makes a volume once and finds it after that', async t => {
  const { volumes } = await makeGateway(t);
  const first = await volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1'));
  assert.equal(first.created, true);
  assert.equal(first.volume.state, 'ready');
  assert.equal(first.volume.sizeBytes, mebibyte);
  const again = await volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1'));
  assert.deepEqual(again, { volume: first.volume, created: false });
  assert.deepEqual(await volumes.get(clusters.a, 'a.pvc-1'), first.volume);
});

test('createVolume accepts a known name when its size lies within the bounds', async t => {
  const { volumes } = await makeGateway(t);
  await volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1', { requiredBytes: 2 * mebibyte }));
  const fitting = volumeSpec('pvc-1', { requiredBytes: mebibyte, limitBytes: 3 * mebibyte });
  assert.equal((await volumes.create(clusters.a, 'a.pvc-1', fitting)).volume.sizeBytes, 2 * mebibyte);
});

const different = [
  { name: 'more bytes', spec: { requiredBytes: 3 * mebibyte }, says: /is there with 2097152 bytes/ },
  {
    name: 'fewer bytes',
    spec: { requiredBytes: 0, limitBytes: mebibyte },
    says: /is there with 2097152 bytes/,
  },
  { name: 'another name', spec: { name: 'pvc-2' }, says: /is there with the name "pvc-1"/ },
];
for (const { name, spec, says } of different) {
  test(`createVolume refuses ${name} for a known id`, async t => {
    const { volumes } = await makeGateway(t);
    const { volume } = await volumes.create(
      clusters.a,
      'a.pvc-1',
      volumeSpec('pvc-1', { requiredBytes: 2 * mebibyte }),
    );
    const asked = volumeSpec('pvc-1', spec);
    await assert.rejects(volumes.create(clusters.a, 'a.pvc-1', asked), isProblemThat('ALREADY_EXISTS', says));
    assert.deepEqual(await volumes.get(clusters.a, 'a.pvc-1'), volume);
  });
}

const refused = [
  {
    name: 'a limit below what is required',
    spec: { requiredBytes: 2, limitBytes: 1 },
    says: /requiredBytes of 2 is more than limitBytes of 1/,
  },
  {
    name: 'an access mode that the backend does not have',
    spec: { capabilities: [mounted, { ...mounted, accessMode: 'MULTI_NODE_MULTI_WRITER' as const }] },
    says: /does not offer MULTI_NODE_MULTI_WRITER/,
  },
  {
    name: 'an access type that the backend does not have',
    spec: { capabilities: [{ ...mounted, accessType: 'block' as const }] },
    says: /does not offer SINGLE_NODE_WRITER for volumes of type block/,
  },
  {
    name: 'an unknown parameter',
    spec: { parameters: { colour: 'red' } },
    says: /parameters: "colour" is not known/,
  },
];
for (const { name, spec, says } of refused) {
  test(`createVolume refuses ${name} and records nothing`, async t => {
    const inner = await openMemory();
    const backend = { ...inner, accessModes: [mounted.accessMode], accessTypes: ['mount' as const] };
    const { volumes } = await makeGateway(t, { backend });
    const asked = volumeSpec('pvc-1', spec);
    await assert.rejects(
      volumes.create(clusters.a, 'a.pvc-1', asked),
      isProblemThat('INVALID_ARGUMENT', says),
    );
    await assert.rejects(volumes.get(clusters.a, 'a.pvc-1'), isProblem('NOT_FOUND'));
  });
}

test('createVolume forgets the volume when the storage is full, so that another try is a new one', async t => {
  const { volumes } = await makeGateway(t, { backend: await openMemory(4 * mebibyte) });
  await volumes.create(clusters.a, 'a.first', volumeSpec('first', { requiredBytes: 3 * mebibyte }));
  const second = volumeSpec('second', { requiredBytes: 2 * mebibyte });
  await assert.rejects(volumes.create(clusters.a, 'a.second', second), isProblem('RESOURCE_EXHAUSTED'));
  await assert.rejects(volumes.get(clusters.a, 'a.second'), isProblem('NOT_FOUND'));
  await volumes.delete(clusters.a, 'a.first');
  assert.equal((await volumes.create(clusters.a, 'a.second', second)).created, true);
});

for (const moment of ['before', 'after'] as const satisfies readonly Moment[]) {
  test(`ten failures ${moment} the storage commits, and retries, lead to exactly one volume`, async t => {
    const backend = createFaultyBackend(await openMemory());
    const { volumes } = await makeGateway(t, { backend });
    for (let i = 0; i < 10; i++) backend.failNext('create', moment, new Error('the answer was lost'));
    for (let i = 0; i < 10; i++) {
      await assert.rejects(
        volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1')),
        isProblem('UNAVAILABLE'),
      );
      assert.equal((await volumes.get(clusters.a, 'a.pvc-1')).state, 'creating');
    }
    const { volume } = await volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1'));
    assert.equal(volume.state, 'ready');
    assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), ['a.pvc-1']);
    assert.equal((await volumes.list(clusters.a, { limit: 10 })).volumes.length, 1);
  });
}

test('a volume that is half made is finished as it was first asked for', async t => {
  const backend = createFaultyBackend(await openMemory());
  const { volumes } = await makeGateway(t, { backend });
  backend.failNext('create', 'before', new Error('unreachable'));
  const first = volumeSpec('pvc-1', { requiredBytes: 2 * mebibyte });
  await assert.rejects(volumes.create(clusters.a, 'a.pvc-1', first));
  const second = volumeSpec('pvc-1', { requiredBytes: 8 * mebibyte });
  await assert.rejects(volumes.create(clusters.a, 'a.pvc-1', second), isProblem('ALREADY_EXISTS'));
  assert.equal((await volumes.create(clusters.a, 'a.pvc-1', first)).volume.sizeBytes, 2 * mebibyte);
});

test('a volume that the storage made with another size is never reported as made', async t => {
  const inner = await openMemory();
  const backend = { ...inner, create: async () => ({ sizeBytes: 1 }) };
  const { volumes } = await makeGateway(t, { backend });
  const work = volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1'));
  await assert.rejects(work, isProblemThat('UNAVAILABLE', /created volume "a.pvc-1" with 1 bytes/));
  assert.equal((await volumes.get(clusters.a, 'a.pvc-1')).state, 'creating');
});

test('the same create joins the one that runs; another one is ABORTED and told what runs', async t => {
  const backend = createFaultyBackend(await openMemory());
  const { volumes } = await makeGateway(t, { backend });
  const release = backend.hold('create');
  const same = Array.from({ length: 10 }, () => volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1')));
  await backend.entered('create');
  const busy = isProblemThat('ABORTED', /volume "a.pvc-1" is busy: create runs since \d{4}-/);
  await assert.rejects(
    volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1', { requiredBytes: 5 })),
    busy,
  );
  await assert.rejects(volumes.delete(clusters.a, 'a.pvc-1'), busy);
  release();
  const made = await Promise.all(same);
  assert.equal(new Set(made.map(({ volume }) => JSON.stringify(volume))).size, 1);
  assert.deepEqual(backend.calls, ['create a.pvc-1']);
});

test('two gateways on one store that create the same volume at once have one effect', async t => {
  const backend = createFaultyBackend(await openMemory());
  const store = join(temporaryDirectory(t), 'store.sqlite');
  const [one, two] = [await makeGateway(t, { backend, store }), await makeGateway(t, { backend, store })];
  for (let i = 0; i < 10; i++) {
    const id = `a.pvc-${i}`;
    const both = await Promise.allSettled(
      [one, two].map(({ volumes }) => volumes.create(clusters.a, id, volumeSpec(`pvc-${i}`))),
    );
    for (const outcome of both)
      if (outcome.status === 'rejected')
        assert.ok(isProblem('ABORTED')(outcome.reason), String(outcome.reason));
    assert.ok(both.some(({ status }) => status === 'fulfilled'));
    assert.deepEqual(await one.volumes.get(clusters.a, id), await two.volumes.get(clusters.a, id));
    assert.equal(backend.calls.filter(call => call === `create ${id}`).length, 1);
  }
});

test('deleteVolume removes the volume and is fine when there is none', async t => {
  const backend = createFaultyBackend(await openMemory());
  const { volumes } = await makeGateway(t, { backend });
  await volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1'));
  await volumes.delete(clusters.a, 'a.pvc-1');
  await volumes.delete(clusters.a, 'a.pvc-1');
  for (const id of ['a.never', 'malformed', '', 'a.', '../x', 'a.x/../y'])
    await volumes.delete(clusters.a, id);
  await assert.rejects(volumes.get(clusters.a, 'a.pvc-1'), isProblem('NOT_FOUND'));
  assert.deepEqual(backend.calls, ['create a.pvc-1', 'delete a.pvc-1']);
});

test('a deletion that failed leaves a tombstone: no create until it is done', async t => {
  const backend = createFaultyBackend(await openMemory());
  const { volumes } = await makeGateway(t, { backend });
  await volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1'));
  backend.failNext('delete', 'after', new Error('the answer was lost'));
  await assert.rejects(volumes.delete(clusters.a, 'a.pvc-1'), isProblem('UNAVAILABLE'));
  assert.equal((await volumes.get(clusters.a, 'a.pvc-1')).state, 'deleting');
  await assert.rejects(volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1')), isProblem('ABORTED'));
  await volumes.delete(clusters.a, 'a.pvc-1');
  assert.equal((await volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1'))).created, true);
});

test('a deletion that the storage refuses changes nothing', async t => {
  const backend = createFaultyBackend(await openMemory());
  const { volumes } = await makeGateway(t, { backend });
  const { volume } = await volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1'));
  backend.failNext('delete', 'before', new Problem('FAILED_PRECONDITION', 'it has snapshots'));
  await assert.rejects(volumes.delete(clusters.a, 'a.pvc-1'), isProblem('FAILED_PRECONDITION'));
  assert.deepEqual(await volumes.get(clusters.a, 'a.pvc-1'), volume);
});

const foreignIds = ['b.pvc-1', 'b.never'];
for (const id of foreignIds) {
  test(`cluster a cannot tell whether ${id} is there`, async t => {
    const backend = createFaultyBackend(await openMemory());
    const { volumes } = await makeGateway(t, { backend });
    const { volume } = await volumes.create(clusters.b, 'b.pvc-1', volumeSpec('pvc-1'));
    const nothing = isProblemThat('NOT_FOUND', new RegExp(`^there is no volume "${id}"$`));
    await assert.rejects(volumes.create(clusters.a, id, volumeSpec('pvc-1')), nothing);
    await assert.rejects(volumes.get(clusters.a, id), nothing);
    await assert.rejects(volumes.validate(clusters.a, id, { capabilities: [mounted] }), nothing);
    await volumes.delete(clusters.a, id);
    assert.deepEqual(await volumes.list(clusters.a, { limit: 10 }), { volumes: [] });
    assert.deepEqual(await volumes.get(clusters.b, 'b.pvc-1'), volume);
    assert.deepEqual(backend.calls, ['create b.pvc-1']);
  });
}

const malformed = ['pvc-1', '.pvc', 'a.', 'A.x', 'a.x/y', 'a.../y', 'a.-x', `a.${'x'.repeat(127)}`, 'a.x\0'];
for (const id of malformed) {
  test(`createVolume refuses the id ${JSON.stringify(id).slice(0, 24)}`, async t => {
    const { volumes } = await makeGateway(t);
    await assert.rejects(volumes.create(clusters.a, id, volumeSpec('x')), isProblem('INVALID_ARGUMENT'));
  });
}

test('validateVolume confirms what can be had and says why not', async t => {
  const inner = await openMemory();
  const backend = { ...inner, accessModes: [mounted.accessMode] };
  const { volumes } = await makeGateway(t, { backend });
  await volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1'));
  const ask = (spec: object): Promise<{ confirmed: boolean; message?: string | undefined }> =>
    volumes.validate(clusters.a, 'a.pvc-1', { capabilities: [mounted], ...spec });
  assert.deepEqual(await ask({ parameters: {}, context: {} }), { confirmed: true });
  const rows = [
    { capabilities: [{ ...mounted, accessMode: 'MULTI_NODE_READER_ONLY' }] },
    { parameters: { colour: 'red' } },
    { context: { server: 'x' } },
  ];
  for (const row of rows) {
    const { confirmed, message } = await ask(row);
    assert.equal(confirmed, false, JSON.stringify(row));
    assert.ok(message);
  }
});

test('a list comes in pages ordered by id, and shows each volume once while others come and go', async t => {
  const { volumes } = await makeGateway(t);
  const names = Array.from({ length: 25 }, (_, index) => `pvc-${String(index).padStart(2, '0')}`);
  for (const name of names) await volumes.create(clusters.a, `a.${name}`, volumeSpec(name));
  await volumes.create(clusters.b, 'b.other', volumeSpec('other'));
  const seen: string[] = [];
  let pageToken: string | undefined;
  do {
    const page = await volumes.list(clusters.a, { limit: 10, pageToken });
    seen.push(...page.volumes.map(({ name }) => name));
    pageToken = page.nextPageToken;
    await volumes.delete(clusters.a, page.volumes.at(-1)?.id ?? '');
    await volumes.create(clusters.a, `a.a-new-${seen.length}`, volumeSpec(`a-new-${seen.length}`));
  } while (pageToken !== undefined);
  assert.deepEqual(seen, names);
});

test('a failure of the store is UNAVAILABLE, and the storage is not touched', async t => {
  const backend = createFaultyBackend(await openMemory());
  const { volumes, engine } = await makeGateway(t, { backend });
  await engine.close();
  await assert.rejects(volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1')), isProblem('UNAVAILABLE'));
  assert.deepEqual(backend.calls, []);
});

const finals: readonly ProblemCode[] = ['INVALID_ARGUMENT', 'OUT_OF_RANGE', 'RESOURCE_EXHAUSTED', 'INTERNAL'];
const temporary: readonly ProblemCode[] = ['UNAVAILABLE', 'ABORTED', 'DEADLINE_EXCEEDED', 'CANCELLED'];
for (const code of [...finals, ...temporary]) {
  const stays = temporary.includes(code);
  test(`a create that ends with ${code} is ${stays ? 'remembered' : 'forgotten'}`, async t => {
    const backend = createFaultyBackend(await openMemory());
    const { volumes } = await makeGateway(t, { backend });
    backend.failNext('create', 'before', new Problem(code, 'as told'));
    await assert.rejects(volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1')), isProblem(code));
    const found = volumes.get(clusters.a, 'a.pvc-1');
    if (stays) assert.equal((await found).state, 'creating');
    else await assert.rejects(found, isProblem('NOT_FOUND'));
  });
}
