import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProblem } from '../harness/gateway-problems.ts';
import { testChanges, testGroups, testSnapshots } from './backend-snapshots.ts';
import { newVolume } from './backend.ts';
import {
  assertHolds,
  makeVolume,
  offersSource,
  pattern,
  sourceOf,
  type OpenMembers,
} from './member-fixtures.ts';

export type { Content, Opened, OpenMembers } from './member-fixtures.ts';

const mebibyte = 2 ** 20;

/** Everything that a backend must do of what it offers: a test whose member is absent is skipped. */
export function testBackendMembers(open: OpenMembers): void {
  testSources(open);
  testExpansion(open);
  testModification(open);
  testSnapshots(open);
  testGroups(open);
  testChanges(open);
  testHealth(open);
}

function testSources(open: OpenMembers): void {
  for (const kind of ['snapshot', 'volume'] as const) {
    test(`a volume made from a ${kind} has its bytes, and each goes its own way`, async t => {
      const { backend, content } = await open(t);
      if (!offersSource(t, backend, kind)) return;
      const source = await makeVolume(backend, { id: 'a.source' });
      await content?.write(source.id, 5_000, pattern('old'));
      const from = await sourceOf(backend, kind, source);
      const clone = await makeVolume(backend, { id: 'a.clone', source: from });
      assert.equal(clone.sizeBytes, source.sizeBytes);
      await content?.write(source.id, 5_000, pattern('new'));
      await content?.write(clone.id, 9_000, pattern('own'));
      await assertHolds(content, clone.id, 5_000, 'old');
      await assertHolds(content, source.id, 9_000, '\0\0\0');
    });

    test(`a volume made from a ${kind} may be larger, and the rest is empty`, async t => {
      const { backend, content } = await open(t);
      if (!offersSource(t, backend, kind)) return;
      const source = await makeVolume(backend, { id: 'a.source' });
      await content?.write(source.id, 0, pattern('old'));
      const from = await sourceOf(backend, kind, source);
      const clone = await makeVolume(backend, { id: 'a.clone', source: from, requiredBytes: 3 * mebibyte });
      assert.ok(clone.sizeBytes >= 3 * mebibyte);
      await assertHolds(content, clone.id, 0, 'old');
      await assertHolds(content, clone.id, source.sizeBytes, '\0\0\0');
    });

    test(`making a volume from a ${kind} again does not fill it again`, async t => {
      const { backend, content } = await open(t);
      if (!offersSource(t, backend, kind)) return;
      const source = await makeVolume(backend, { id: 'a.source' });
      const wanted = newVolume({ id: 'a.clone', source: await sourceOf(backend, kind, source) });
      const first = await backend.create(wanted);
      await content?.write('a.clone', 0, pattern('own'));
      assert.deepEqual(await backend.create(wanted), first);
      await assertHolds(content, 'a.clone', 0, 'own');
    });
  }
}

function testExpansion(open: OpenMembers): void {
  test('a volume grows as often as asked, never shrinks, and keeps its bytes', async t => {
    const { backend, content } = await open(t);
    if (!backend.expand) return t.skip('it has no expand');
    const volume = await makeVolume(backend, { id: 'a.grown' });
    await content?.write(volume.id, 0, pattern('old'));
    const bounds = { requiredBytes: 4 * mebibyte, limitBytes: 0 };
    const { sizeBytes, nodeExpansionRequired } = await backend.expand(volume, bounds);
    assert.ok(sizeBytes >= bounds.requiredBytes);
    assert.equal((await backend.expand(volume, bounds)).sizeBytes, sizeBytes);
    assert.equal(typeof nodeExpansionRequired, 'boolean');
    const grown = { ...volume, sizeBytes };
    const less = { requiredBytes: mebibyte, limitBytes: 0 };
    assert.equal((await backend.expand(grown, less)).sizeBytes, sizeBytes);
    const below = { requiredBytes: mebibyte, limitBytes: mebibyte };
    await assert.rejects(backend.expand(grown, below), isProblem('OUT_OF_RANGE'));
    await assertHolds(content, volume.id, 0, 'old');
    await assertHolds(content, volume.id, sizeBytes - 3, '\0\0\0');
  });

  test('a size that cannot be had changes nothing', async t => {
    const { backend } = await open(t);
    if (!backend.expand) return t.skip('it has no expand');
    const volume = await makeVolume(backend, { id: 'a.grown' });
    const bounds = { requiredBytes: 2 ** 52, limitBytes: 0 };
    await assert.rejects(backend.expand(volume, bounds), isProblem('OUT_OF_RANGE', 'RESOURCE_EXHAUSTED'));
    const same = { requiredBytes: volume.sizeBytes, limitBytes: volume.sizeBytes };
    assert.equal((await backend.expand(volume, same)).sizeBytes, volume.sizeBytes);
  });
}

function testModification(open: OpenMembers): void {
  test('an unknown mutable parameter is refused by name', async t => {
    const { backend } = await open(t);
    if (!backend.modification) return t.skip('it has no modification');
    const parsed = backend.modification.parameters.safeParse({ 'no-such-parameter': 'x' });
    assert.equal(parsed.success, false);
    assert.match(String(parsed.error), /no-such-parameter/);
  });

  test('mutable parameters are applied as often as asked, at the start and later', async t => {
    const { backend, mutableParameters = {} } = await open(t);
    if (!backend.modification) return t.skip('it has no modification');
    const parsed = backend.modification.parameters.parse(mutableParameters);
    const volume = await makeVolume(backend, { id: 'a.modified', mutableParameters: parsed });
    await backend.modification.apply(volume, parsed);
    await backend.modification.apply(volume, parsed);
    await backend.modification.apply(volume, {});
  });
}

function testHealth(open: OpenMembers): void {
  test('nothing is wrong with a volume that is well', async t => {
    const { backend } = await open(t);
    if (!backend.volumeHealth) return t.skip('it has no volumeHealth');
    assert.deepEqual(await backend.volumeHealth(await makeVolume(backend, { id: 'a.well' })), []);
  });

  test('what is wrong with a volume that is gone is told once for each status and reason', async t => {
    const { backend } = await open(t);
    if (!backend.volumeHealth) return t.skip('it has no volumeHealth');
    const volume = await makeVolume(backend, { id: 'a.gone' });
    await backend.delete(volume);
    const entries = await backend.volumeHealth(volume);
    assert.ok(entries.length > 0);
    assert.equal(new Set(entries.map(({ status, reason }) => `${status} ${reason}`)).size, entries.length);
    for (const { reason } of entries) assert.match(reason, /^[A-Z][A-Za-z0-9]*$/);
  });
}
