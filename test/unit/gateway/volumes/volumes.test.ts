import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Problem, type ProblemCode } from '../../../../src/api/problem.ts';
import type { VolumeSpec } from '../../../../src/api/volume.ts';
import { clusters, openGateway, mounted, volumeSpec } from '../../../harness/gateway.ts';
import { volumesIn } from '../../../harness/gateway/fixtures.ts';

const mebibyte = 2 ** 20;
const { a } = clusters;
const id = 'a.pvc-1';

/** Opens a gateway without volumes, and a function that creates a.pvc-1 of 2 MiB. */
async function open(t: TestContext) {
  const gateway = await openGateway(t);
  const create = (change: Partial<VolumeSpec> = {}) =>
    gateway.create(id, { requiredBytes: 2 * mebibyte, ...change });
  return { ...gateway, create };
}

test('createVolume makes a volume once, finds it within other bounds, and finds nothing else under its id', async t => {
  const { create, volumes, backend } = await open(t);
  const { volume, created } = await create();
  assert.deepEqual([created, volume.state, volume.sizeBytes], [true, 'ready', 2 * mebibyte]);
  for (const change of [{}, { requiredBytes: mebibyte, limitBytes: 3 * mebibyte }])
    assert.deepEqual(await create(change), { volume, created: false });
  for (const [change, says] of [
    [{ requiredBytes: 3 * mebibyte }, /already exists with 2097152 bytes/],
    [{ requiredBytes: 0, limitBytes: mebibyte }, /already exists with 2097152 bytes/],
    [{ name: 'pvc-2' }, /already exists with the name "pvc-1"/],
  ] as const)
    await assert.rejects(create(change), { code: 'ALREADY_EXISTS', detail: says });
  assert.deepEqual(await volumes.get(a, id), volume);
  assert.deepEqual(backend.calls, [`create ${id}`]);
});

test("the storage's context reaches the cluster without the members for nodes and Kubernetes' own", async t => {
  const context = {
    server: 'x',
    'csi.storage.k8s.io/ephemeral': 'true',
    'csi.storage.k8s.io/pod.name': 'x',
    'storage.kubernetes.io/csiProvisionerIdentity': 'x',
    'fs.blockSize': '1024',
    encryption: 'luks',
  };
  const { volumes } = await openGateway(t, {
    own: memory => ({ create: async volume => ({ ...(await memory.create(volume)), context }) }),
  });
  const { volume } = await volumes.create(a, id, volumeSpec('pvc-1'));
  assert.deepEqual(volume.context, { server: 'x' });
});

test('createVolume forgets the volume when the storage is full, so that another attempt is a new one', async t => {
  const { volumes } = await openGateway(t, { capacity: 4 * mebibyte });
  await volumes.create(a, 'a.first', volumeSpec('first', { requiredBytes: 3 * mebibyte }));
  const second = volumeSpec('second', { requiredBytes: 2 * mebibyte });
  await assert.rejects(volumes.create(a, 'a.second', second), { code: 'RESOURCE_EXHAUSTED' });
  await assert.rejects(volumes.get(a, 'a.second'), { code: 'NOT_FOUND' });
  await volumes.delete(a, 'a.first');
  assert.equal((await volumes.create(a, 'a.second', second)).created, true);
});

for (const moment of ['before', 'after'] as const)
  test(`ten failures ${moment} the storage commits, and retries, lead to exactly one volume, as first requested`, async t => {
    const { create, volumes, backend } = await open(t);
    for (let i = 0; i < 10; i++) {
      backend.failNext('create', moment, new Error('the answer was lost'));
      await assert.rejects(create(), { code: 'UNAVAILABLE' });
      assert.equal((await volumes.get(a, id)).state, 'creating');
    }
    await assert.rejects(create({ requiredBytes: 8 * mebibyte }), { code: 'ALREADY_EXISTS' });
    const { volume } = await create();
    assert.deepEqual([volume.state, volume.sizeBytes], ['ready', 2 * mebibyte]);
    assert.deepEqual(await volumesIn(backend), [id]);
    assert.deepEqual((await volumes.list(a, { limit: 10 })).volumes, [volume]);
  });

test('a volume that the storage made with a wrong size is never reported as made', async t => {
  const { volumes } = await openGateway(t, { own: { create: async () => ({ sizeBytes: 1 }) } });
  const work = volumes.create(a, id, volumeSpec('pvc-1'));
  await assert.rejects(work, { code: 'UNAVAILABLE', detail: /created volume "a.pvc-1" with 1 bytes/ });
  assert.equal((await volumes.get(a, id)).state, 'creating');
});

test('an equal create joins the running one; another one is ABORTED and learns what runs', async t => {
  const { create, volumes, backend } = await open(t);
  const release = backend.hold('create');
  const same = Array.from({ length: 10 }, () => create());
  await backend.entered('create');
  const busy = { code: 'ABORTED', detail: /volume "a.pvc-1" is busy: create has been running since \d{4}-/ };
  await assert.rejects(create({ requiredBytes: 5 }), busy);
  await assert.rejects(volumes.delete(a, id), busy);
  release();
  const made = await Promise.all(same);
  assert.equal(new Set(made.map(({ volume }) => JSON.stringify(volume))).size, 1);
  assert.deepEqual(backend.calls, [`create ${id}`]);
});

test('deleteVolume removes the volume and succeeds if there is none', async t => {
  const { create, volumes, backend } = await open(t);
  await create();
  for (const any of [id, id, 'a.never', 'malformed', '', 'a.', '../x', 'a.x/../y'])
    await volumes.delete(a, any);
  await assert.rejects(volumes.get(a, id), { code: 'NOT_FOUND' });
  assert.deepEqual(backend.calls, [`create ${id}`, `delete ${id}`]);
});

test('a failed deletion leaves a tombstone: no create until it is done', async t => {
  const { create, volumes, backend } = await open(t);
  await create();
  backend.failNext('delete', 'after', new Error('the answer was lost'));
  await assert.rejects(volumes.delete(a, id), { code: 'UNAVAILABLE' });
  assert.equal((await volumes.get(a, id)).state, 'deleting');
  await assert.rejects(create(), { code: 'ABORTED' });
  await volumes.delete(a, id);
  assert.equal((await create()).created, true);
});

test('a deletion that the storage refuses changes nothing', async t => {
  const { create, volumes, backend } = await open(t);
  const { volume } = await create();
  backend.failNext('delete', 'before', new Problem('FAILED_PRECONDITION', 'it has snapshots'));
  await assert.rejects(volumes.delete(a, id), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(await volumes.get(a, id), volume);
});

test('createVolume refuses an invalid id', async t => {
  const { volumes } = await open(t);
  const ids = ['pvc-1', '.pvc', 'a.', 'A.x', 'a.x/y', 'a.../y', 'a.-x', `a.${'x'.repeat(127)}`, 'a.x\0'];
  for (const malformed of ids)
    await assert.rejects(volumes.create(a, malformed, volumeSpec('x')), { code: 'INVALID_ARGUMENT' });
});

test('validateVolume confirms possible requests and gives the reasons otherwise', async t => {
  const { create, volumes } = await open(t);
  await create();
  const validate = (spec: object) => volumes.validate(a, id, { capabilities: [mounted], ...spec });
  assert.deepEqual(await validate({ parameters: {}, context: {} }), { confirmed: true });
  for (const [spec, says] of [
    [{ capabilities: [{ ...mounted, fsType: 'ntfs' }] }, /"ntfs" is not one of/],
    [{ parameters: { colour: 'red' } }, /was made with other parameters/],
    [{ context: { server: 'x' } }, /has another context/],
  ] as const) {
    const { confirmed, message } = await validate(spec);
    assert.equal(confirmed, false);
    assert.match(message ?? '', says);
  }
});

test('a list has pages ordered by id, and shows each volume once while others are made and deleted', async t => {
  const { volumes } = await openGateway(t);
  const names = Array.from({ length: 25 }, (_, index) => `pvc-${String(index).padStart(2, '0')}`);
  for (const name of names) await volumes.create(a, `a.${name}`, volumeSpec(name));
  const seen: string[] = [];
  let pageToken: string | undefined;
  do {
    const page = await volumes.list(a, { limit: 10, pageToken });
    seen.push(...page.volumes.map(({ name }) => name));
    pageToken = page.nextPageToken;
    await volumes.delete(a, page.volumes.at(-1)?.id ?? '');
    await volumes.create(a, `a.a-new-${seen.length}`, volumeSpec(`a-new-${seen.length}`));
  } while (pageToken !== undefined);
  assert.deepEqual(seen, names);
});

test('a failure of the store is UNAVAILABLE, and the storage is not touched', async t => {
  const { create, engine, backend } = await open(t);
  await engine.close();
  await assert.rejects(create(), { code: 'UNAVAILABLE' });
  assert.deepEqual(backend.calls, []);
});

const finals: readonly ProblemCode[] = ['INVALID_ARGUMENT', 'OUT_OF_RANGE', 'RESOURCE_EXHAUSTED', 'INTERNAL'];
const temporary: readonly ProblemCode[] = ['UNAVAILABLE', 'ABORTED', 'DEADLINE_EXCEEDED', 'CANCELLED'];
for (const code of [...finals, ...temporary]) {
  const states = temporary.includes(code) ? ['creating'] : [];
  test(`a create that ends with ${code} is ${states[0] ? 'remembered' : 'forgotten'}`, async t => {
    const { create, volumes, backend } = await open(t);
    backend.failNext('create', 'before', new Problem(code, 'as told'));
    await assert.rejects(create(), { code });
    const left = (await volumes.list(a, { limit: 10 })).volumes.map(({ state }) => state);
    assert.deepEqual(left, states);
  });
}
