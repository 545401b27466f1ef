import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { VolumeSource, VolumeSpec } from '../../../../src/api/volume.ts';
import { clusters, openGateway, volumeSpec, type Gateway } from '../../../harness/gateway.ts';

const mebibyte = 2 ** 20;
const { a } = clusters;
const fromSnapshot = { kind: 'snapshot', snapshotId: 'a.snap-1' } as const;
const fromVolume = { kind: 'volume', volumeId: 'a.pvc-1' } as const;

async function makeSource({ volumes, snapshots }: Gateway): Promise<void> {
  await volumes.create(a, 'a.pvc-1', volumeSpec('pvc-1', { requiredBytes: 2 * mebibyte }));
  await snapshots.create(a, 'a.snap-1', { name: 'snap-1', volumeId: 'a.pvc-1' });
}

/** Opens a gateway with the volume a.pvc-1 of 2 MiB, and its snapshot a.snap-1. */
async function open(t: TestContext) {
  const gateway = await openGateway(t);
  await makeSource(gateway);
  return gateway;
}

function copy({ volumes }: Gateway, source: VolumeSource | undefined, change: Partial<VolumeSpec> = {}) {
  const spec = { requiredBytes: 2 * mebibyte, ...(source && { source }), ...change };
  return volumes.create(a, `a.${change.name ?? 'copy'}`, volumeSpec('copy', spec));
}

function removeSource({ volumes, snapshots }: Gateway, source: VolumeSource): Promise<void> {
  return source.kind === 'snapshot'
    ? snapshots.delete(a, source.snapshotId)
    : volumes.delete(a, source.volumeId);
}

for (const source of [fromSnapshot, fromVolume]) {
  const { kind } = source;

  test(`a volume made from a ${kind} says so, nodes may not format it, and it outlives its source`, async t => {
    const gateway = await open(t);
    const { volume } = await copy(gateway, source);
    assert.deepEqual([volume.source, volume.sizeBytes], [source, 2 * mebibyte]);
    const mayFormat = async (id: string) => (await gateway.attach(id)).attachment.attachment?.mayFormat;
    assert.deepEqual([await mayFormat('a.copy'), await mayFormat('a.pvc-1')], [false, true]);
    for (const id of ['a.copy', 'a.pvc-1']) await gateway.detach(id);
    await removeSource(gateway, source);
    assert.deepEqual(await copy(gateway, source), { volume, created: false });
  });

  test(`a volume made from a ${kind} may be larger, has its size by default, and is never smaller`, async t => {
    const gateway = await open(t);
    const larger = await copy(gateway, source, { name: 'larger', requiredBytes: 5 * mebibyte });
    assert.equal(larger.volume.sizeBytes, 5 * mebibyte);
    const same = await copy(gateway, source, { name: 'same', requiredBytes: 0 });
    assert.equal(same.volume.sizeBytes, 2 * mebibyte);
    for (const change of [
      { requiredBytes: mebibyte },
      { requiredBytes: 0, limitBytes: mebibyte },
      { requiredBytes: 1, limitBytes: 2 * mebibyte - 1 },
    ])
      await assert.rejects(copy(gateway, source, change), {
        code: 'OUT_OF_RANGE',
        detail: new RegExp(`the source ${kind} has 2097152 bytes`),
      });
    await assert.rejects(gateway.volumes.get(a, 'a.copy'), { code: 'NOT_FOUND' });
  });

  test(`the ${kind} stays while a volume is being made from it, and until a failed one is made`, async t => {
    const gateway = await open(t);
    const { backend, recovery, volumes } = gateway;
    const release = backend.hold('create');
    backend.failNext('create', 'before', new Error('unreachable'));
    const making = assert.rejects(copy(gateway, source));
    await backend.entered('create');
    await assert.rejects(removeSource(gateway, source), { code: /ABORTED|FAILED_PRECONDITION/ });
    release();
    await making;
    const needed = { code: 'FAILED_PRECONDITION', detail: /volume "a.copy" is being created from it/ };
    await assert.rejects(removeSource(gateway, source), needed);
    assert.equal(await recovery.sweep(), 1);
    assert.equal((await volumes.get(a, 'a.copy')).state, 'ready');
    await removeSource(gateway, source);
  });

  test(`a ${kind} that is unknown or another cluster's is NOT_FOUND, and nothing is recorded`, async t => {
    const gateway = await open(t);
    await gateway.create('b.pvc-1');
    await gateway.snapshot('b.pvc-1', 'b.pvc-1');
    for (const id of ['a.never', 'b.pvc-1', 'malformed', 'a.copy']) {
      const unknown = kind === 'snapshot' ? { kind, snapshotId: id } : { kind, volumeId: id };
      await assert.rejects(copy(gateway, unknown), { code: 'NOT_FOUND' });
    }
    await assert.rejects(gateway.volumes.get(a, 'a.copy'), { code: 'NOT_FOUND' });
  });

  test(`a backend that accepts no ${kind} as a source refuses it`, async t => {
    const gateway = await openGateway(t, {
      own: ({ sources = [] }) => ({ sources: sources.filter(other => other !== kind) }),
    });
    await makeSource(gateway);
    await assert.rejects(copy(gateway, source), { code: 'INVALID_ARGUMENT' });
    const { body } = await gateway.ask('GET /v1/capabilities');
    const feature = kind === 'snapshot' ? 'restore' : 'clone';
    assert.ok(!(body['features'] as string[]).includes(feature));
  });
}

test('a known volume with another source is ALREADY_EXISTS', async t => {
  const gateway = await open(t);
  await copy(gateway, fromSnapshot);
  for (const other of [fromVolume, undefined])
    await assert.rejects(copy(gateway, other), { code: 'ALREADY_EXISTS' });
  await assert.rejects(copy(gateway, fromSnapshot, { name: 'pvc-1' }), { code: 'ALREADY_EXISTS' });
});

test('a volume is not attached while it is copied, and many volumes can be made from a snapshot at once', async t => {
  const gateway = await open(t);
  const { backend } = gateway;
  const release = backend.hold('create');
  const copying = copy(gateway, fromVolume);
  await backend.entered('create');
  const busy = { code: 'ABORTED', detail: /volume "a.pvc-1" is busy: create has been running/ };
  await assert.rejects(gateway.attach('a.pvc-1'), busy);
  const many = Array.from({ length: 8 }, (_, index) => copy(gateway, fromSnapshot, { name: `r-${index}` }));
  release();
  await Promise.all([copying, ...many]);
});

for (const when of ['before', 'after'] as const)
  test(`a copy that failed ${when} the storage made it is undone once its source has grown, and then made anew`, async t => {
    const gateway = await openGateway(t);
    const { create, changes, recovery, backend } = gateway;
    const make = () => copy(gateway, fromVolume, { requiredBytes: 0 });
    await create('a.pvc-1', { requiredBytes: 2 * mebibyte });
    backend.failNext('create', when, new Error('unreachable'));
    await assert.rejects(make(), { code: 'UNAVAILABLE' });
    await changes.expand(a, 'a.pvc-1', { requiredBytes: 3 * mebibyte });
    await recovery.sweep();
    const { volume, created } = await make();
    assert.deepEqual([volume.sizeBytes, created], [3 * mebibyte, true]);
  });
