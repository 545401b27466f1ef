import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { VolumeSource } from '../../../../src/api/volume.ts';
import { createFaultyBackend, type FaultyBackend } from '../faulty-backend.ts';
import {
  clusters,
  endClaims,
  makeGateway,
  mounted,
  openMemory,
  temporaryDirectory,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway-harness.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';

const mebibyte = 2 ** 20;
const cluster = { ...clusters.a, acceptAnyNode: true };
const sources: readonly VolumeSource[] = [
  { kind: 'snapshot', snapshotId: 'a.snap-1' },
  { kind: 'volume', volumeId: 'a.pvc-1' },
];
const cloneSpec = (source: VolumeSource, change: object = {}): ReturnType<typeof volumeSpec> =>
  volumeSpec('clone', { requiredBytes: 2 * mebibyte, source, ...change });

async function makeSource(gateway: Gateway): Promise<void> {
  await gateway.volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1', { requiredBytes: 2 * mebibyte }));
  await gateway.snapshots.create(clusters.a, 'a.snap-1', { name: 'snap-1', volumeId: 'a.pvc-1' });
}

async function makeFaulty(t: TestContext): Promise<Gateway & { readonly backend: FaultyBackend }> {
  const backend = createFaultyBackend(await openMemory());
  const gateway = await makeGateway(t, { backend });
  await makeSource(gateway);
  return { ...gateway, backend };
}

function removeSource(gateway: Gateway, source: VolumeSource): Promise<void> {
  return source.kind === 'snapshot'
    ? gateway.snapshots.delete(clusters.a, source.snapshotId)
    : gateway.volumes.delete(clusters.a, source.volumeId);
}

for (const source of sources) {
  const { kind } = source;

  test(`a volume made from a ${kind} tells of it, and nodes may not format it`, async t => {
    const gateway = await makeFaulty(t);
    const { volume } = await gateway.volumes.create(clusters.a, 'a.clone', cloneSpec(source));
    assert.deepEqual([volume.source, volume.sizeBytes], [source, 2 * mebibyte]);
    const attach = async (volumeId: string): Promise<boolean | undefined> => {
      const key = { cluster, volumeId, nodeId: 'n1' };
      const spec = { capability: mounted, readonly: false };
      return (await gateway.attachments.attach(key, spec)).attachment.attachment?.mayFormat;
    };
    assert.equal(await attach('a.clone'), false);
    assert.equal(await attach('a.pvc-1'), true);
  });

  test(`a volume made from a ${kind} may be larger, has its size when none is asked, and is never smaller`, async t => {
    const { volumes } = await makeFaulty(t);
    const larger = await volumes.create(
      clusters.a,
      'a.larger',
      cloneSpec(source, { requiredBytes: 5 * mebibyte }),
    );
    assert.equal(larger.volume.sizeBytes, 5 * mebibyte);
    const same = await volumes.create(clusters.a, 'a.same', cloneSpec(source, { requiredBytes: 0 }));
    assert.equal(same.volume.sizeBytes, 2 * mebibyte);
    for (const change of [
      { requiredBytes: mebibyte },
      { requiredBytes: 0, limitBytes: mebibyte },
      { requiredBytes: 1, limitBytes: 2 * mebibyte - 1 },
    ])
      await assert.rejects(
        volumes.create(clusters.a, 'a.less', cloneSpec(source, change)),
        isProblemThat('OUT_OF_RANGE', new RegExp(`the ${kind} to make it from has 2097152 bytes`)),
      );
    await assert.rejects(volumes.get(clusters.a, 'a.less'), isProblem('NOT_FOUND'));
  });

  test(`the ${kind} can go once the volume is made, and the volume is still the one asked for`, async t => {
    const gateway = await makeFaulty(t);
    const { volume } = await gateway.volumes.create(clusters.a, 'a.clone', cloneSpec(source));
    await removeSource(gateway, source);
    const again = await gateway.volumes.create(clusters.a, 'a.clone', cloneSpec(source));
    assert.deepEqual(again, { volume, created: false });
  });

  test(`the ${kind} is kept while a volume is being made from it`, async t => {
    const gateway = await makeFaulty(t);
    const release = gateway.backend.hold('create');
    const making = gateway.volumes.create(clusters.a, 'a.clone', cloneSpec(source));
    await gateway.backend.entered('create');
    await assert.rejects(removeSource(gateway, source), isProblem('ABORTED', 'FAILED_PRECONDITION'));
    release();
    await making;
    await removeSource(gateway, source);
  });

  test(`the ${kind} is kept while a volume that failed is not made or deleted`, async t => {
    const gateway = await makeFaulty(t);
    gateway.backend.failNext('create', 'before', new Error('unreachable'));
    await assert.rejects(gateway.volumes.create(clusters.a, 'a.clone', cloneSpec(source)));
    const needed = isProblemThat('FAILED_PRECONDITION', /volume "a.clone" is being made from it/);
    await assert.rejects(removeSource(gateway, source), needed);
    assert.equal(await gateway.recovery.sweep(), 1);
    assert.equal((await gateway.volumes.get(clusters.a, 'a.clone')).state, 'ready');
    await removeSource(gateway, source);
  });

  test(`an unknown ${kind} is NOT_FOUND, another cluster's too, and nothing is recorded`, async t => {
    const { volumes } = await makeFaulty(t);
    for (const id of ['a.never', 'b.pvc-1', 'malformed', 'a.clone']) {
      const unknown =
        kind === 'snapshot' ? { kind, snapshotId: id } : { kind: 'volume' as const, volumeId: id };
      await assert.rejects(volumes.create(clusters.a, 'a.clone', cloneSpec(unknown)), isProblem('NOT_FOUND'));
    }
    await assert.rejects(volumes.get(clusters.a, 'a.clone'), isProblem('NOT_FOUND'));
  });

  test(`a backend that takes no ${kind} as a source refuses it`, async t => {
    const inner = await openMemory();
    const left = (inner.sources ?? []).filter(other => other !== kind);
    const gateway = await makeGateway(t, { backend: { ...inner, sources: left } });
    await makeSource(gateway);
    const work = gateway.volumes.create(clusters.a, 'a.clone', cloneSpec(source));
    await assert.rejects(work, isProblem('INVALID_ARGUMENT'));
    const { body } = await gateway.ask('GET /v1/capabilities');
    const features = body['features'] as string[];
    assert.ok(!features.includes(kind === 'snapshot' ? 'restore' : 'clone'));
  });

  test(`a gateway that dies while a volume is made from a ${kind} is taken over`, async t => {
    const backend = createFaultyBackend(await openMemory());
    const store = join(temporaryDirectory(t), 'store.sqlite');
    const dying = await makeGateway(t, { backend, store });
    await makeSource(dying);
    const release = backend.hold('create');
    dying.volumes.create(clusters.a, 'a.clone', cloneSpec(source)).catch(() => undefined);
    await backend.entered('create');
    await dying.engine.close();
    const next = await makeGateway(t, { backend, store });
    await assert.rejects(next.volumes.create(clusters.a, 'a.clone', cloneSpec(source)), isProblem('ABORTED'));
    release();
    await endClaims(next);
    assert.equal(await next.recovery.sweep(), 1);
    assert.equal((await next.volumes.get(clusters.a, 'a.clone')).state, 'ready');
    await removeSource(next, source);
  });
}

test('a known volume with another source is ALREADY_EXISTS', async t => {
  const { volumes } = await makeFaulty(t);
  const [fromSnapshot, fromVolume] = sources.map(source => cloneSpec(source));
  assert.ok(fromSnapshot && fromVolume);
  await volumes.create(clusters.a, 'a.clone', fromSnapshot);
  const empty = volumeSpec('clone', { requiredBytes: 2 * mebibyte });
  for (const other of [fromVolume, empty])
    await assert.rejects(volumes.create(clusters.a, 'a.clone', other), isProblem('ALREADY_EXISTS'));
  await assert.rejects(
    volumes.create(clusters.a, 'a.pvc-1', { ...fromSnapshot, name: 'pvc-1' }),
    isProblem('ALREADY_EXISTS'),
  );
});

test('a volume that is copied is not attached meanwhile, and many volumes can be made from a snapshot at once', async t => {
  const { volumes, attachments, backend } = await makeFaulty(t);
  const release = backend.hold('create');
  const copying = volumes.create(clusters.a, 'a.clone', cloneSpec({ kind: 'volume', volumeId: 'a.pvc-1' }));
  await backend.entered('create');
  const key = { cluster, volumeId: 'a.pvc-1', nodeId: 'n1' };
  await assert.rejects(
    attachments.attach(key, { capability: mounted, readonly: false }),
    isProblemThat('ABORTED', /volume "a.pvc-1" is busy: create runs/),
  );
  const source = { kind: 'snapshot', snapshotId: 'a.snap-1' } as const;
  const many = Array.from({ length: 8 }, (_, index) =>
    volumes.create(clusters.a, `a.r-${index}`, { ...cloneSpec(source), name: `r-${index}` }),
  );
  release();
  await Promise.all([copying, ...many]);
  await attachments.attach(key, { capability: mounted, readonly: false });
});

test('bytes of a source reach the volume that is made from it', async t => {
  const backend = await openMemory();
  const gateway = await makeGateway(t, { backend });
  await gateway.volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1', { requiredBytes: 2 * mebibyte }));
  backend.write('a.pvc-1', 4_095, Buffer.from('cut'));
  await gateway.snapshots.create(clusters.a, 'a.snap-1', { name: 'snap-1', volumeId: 'a.pvc-1' });
  backend.write('a.pvc-1', 4_095, Buffer.from('new'));
  for (const source of sources)
    await gateway.volumes.create(clusters.a, `a.from-${source.kind}`, {
      ...cloneSpec(source),
      name: source.kind,
    });
  assert.equal(Buffer.from(backend.read('a.from-snapshot', 4_095, 3)).toString(), 'cut');
  assert.equal(Buffer.from(backend.read('a.from-volume', 4_095, 3)).toString(), 'new');
});

test('a copy that is finished later reserves as much as its source has by then, or is undone', async t => {
  for (const [totalBytes, outcome] of [
    [8 * mebibyte, 3 * mebibyte],
    [5 * mebibyte, undefined],
  ] as const) {
    const backend = createFaultyBackend(await openMemory(totalBytes));
    const { volumes, changes, recovery } = await makeGateway(t, { backend });
    await volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1', { requiredBytes: 2 * mebibyte }));
    backend.failNext('create', 'before', new Error('unreachable'));
    const copy = volumeSpec('copy', { requiredBytes: 0, source: { kind: 'volume', volumeId: 'a.pvc-1' } });
    await assert.rejects(volumes.create(clusters.a, 'a.copy', copy), isProblem('UNAVAILABLE'));
    await changes.expand(clusters.a, 'a.pvc-1', { requiredBytes: 3 * mebibyte });
    await recovery.sweep();
    const found = (await volumes.list(clusters.a, { limit: 9 })).volumes.find(({ name }) => name === 'copy');
    assert.equal(found?.sizeBytes, outcome);
  }
});
