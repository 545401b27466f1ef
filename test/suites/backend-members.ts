import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testChanges, testGroups, testSnapshots } from './backend-snapshots.ts';
import { memberOf, newVolume } from './backend.ts';
import {
  assertHolds,
  makeVolume,
  offersSource,
  pattern,
  sourceOf,
  type OpenMembers,
} from './member-fixtures.ts';

export { contentOf, makeVolume } from './member-fixtures.ts';
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
      const clone = await makeVolume(backend, {
        id: 'a.clone',
        source: from,
        requiredBytes: source.sizeBytes,
      });
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
    const expand = memberOf(t, backend, 'expand');
    if (!expand) return;
    const volume = await makeVolume(backend, { id: 'a.grown' });
    await content?.write(volume.id, 0, pattern('old'));
    const bounds = { requiredBytes: 4 * mebibyte, limitBytes: 0 };
    const { sizeBytes, nodeExpansionRequired } = await expand(volume, bounds);
    assert.ok(sizeBytes >= bounds.requiredBytes);
    assert.equal((await expand(volume, bounds)).sizeBytes, sizeBytes);
    assert.equal(typeof nodeExpansionRequired, 'boolean');
    const grown = { ...volume, sizeBytes };
    const less = { requiredBytes: mebibyte, limitBytes: 0 };
    assert.equal((await expand(grown, less)).sizeBytes, sizeBytes);
    await assertHolds(content, volume.id, 0, 'old');
    await assertHolds(content, volume.id, sizeBytes - 3, '\0\0\0');
  });
}

function testModification(open: OpenMembers): void {
  test('an unknown mutable parameter is refused by name', async t => {
    const { backend } = await open(t);
    const modification = memberOf(t, backend, 'modification');
    if (!modification) return;
    const parsed = modification.parameters.safeParse({ 'no-such-parameter': 'x' });
    assert.equal(parsed.success, false);
    assert.match(String(parsed.error), /no-such-parameter/);
  });

  test('mutable parameters are applied as often as asked, at the start and later', async t => {
    const { backend, mutableParameters = {} } = await open(t);
    const modification = memberOf(t, backend, 'modification');
    if (!modification) return;
    const parsed = modification.parameters.parse(mutableParameters);
    const volume = await makeVolume(backend, { id: 'a.modified', mutableParameters: parsed });
    await modification.apply(volume, parsed);
    await modification.apply(volume, parsed);
    await modification.apply(volume, {});
  });
}

function testHealth(open: OpenMembers): void {
  test('nothing is wrong with a volume that is well', async t => {
    const { backend } = await open(t);
    const volumeHealth = memberOf(t, backend, 'volumeHealth');
    if (!volumeHealth) return;
    assert.deepEqual(await volumeHealth(await makeVolume(backend, { id: 'a.well' })), []);
  });

  test('what is wrong with a volume that is gone is told once for each status and reason', async t => {
    const { backend } = await open(t);
    const volumeHealth = memberOf(t, backend, 'volumeHealth');
    if (!volumeHealth) return;
    const volume = await makeVolume(backend, { id: 'a.gone' });
    await backend.delete(volume);
    const entries = await volumeHealth(volume);
    assert.ok(entries.length > 0);
    assert.equal(new Set(entries.map(({ status, reason }) => `${status} ${reason}`)).size, entries.length);
    for (const { reason } of entries) assert.match(reason, /^[A-Z][A-Za-z0-9]*$/);
  });
}
