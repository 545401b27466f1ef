import assert from 'node:assert/strict';
import type { NodeAccess } from '../../gateway/backend.ts';
import { chooseSize } from '../../gateway/volumes/size.ts';
import {
  assertAnother,
  assertHolds,
  createCheck,
  idsOf,
  makeVolume,
  newSnapshot,
  newVolume,
  sourceOf,
  takeSnapshot,
  type Check,
  type OpenBackend,
} from './backend-fixtures.ts';
import { testChanges, testSnapshots } from './backend-snapshots.ts';

/** Tests the contract of a backend; a test of an absent member is skipped. */
export function testBackend(open: OpenBackend): void {
  const check = createCheck(open);
  testVolumes(check);
  testNonces(check);
  testSources(check);
  testOptions(check);
  testSnapshots(check);
  testChanges(check);
}

function testVolumes(check: Check): void {
  check(
    'a volume has the size that the gateway chose, or another one within the requested bounds',
    [],
    async opened => {
      const { backend, unitBytes } = opened;
      const { sizes } = backend;
      const rows = [
        { requiredBytes: 0, limitBytes: 0 },
        // A smaller volume would hold no filesystem, and a gateway behind the backend would enlarge it.
        { requiredBytes: Math.floor(unitBytes / 4) + 1, limitBytes: 0 },
        { requiredBytes: 0, limitBytes: 3 * unitBytes },
        { requiredBytes: 2 * unitBytes, limitBytes: 2 * unitBytes },
        { requiredBytes: 2 * unitBytes + 1, limitBytes: 8 * unitBytes },
      ];
      for (const [index, row] of rows.entries()) {
        const requiredBytes = sizes ? chooseSize(row, sizes) : row.requiredBytes;
        const wanted = newVolume({ id: `a.size-${index}`, ...row, requiredBytes });
        const { sizeBytes } = await backend.create(wanted);
        const found = `${sizeBytes} for ${JSON.stringify(row)}`;
        if (sizes) assert.equal(sizeBytes, requiredBytes, found);
        assert.ok(sizeBytes > 0 && sizeBytes >= row.requiredBytes, found);
        assert.ok(row.limitBytes === 0 || sizeBytes <= row.limitBytes, found);
      }
    },
  );

  check(
    'create gives the same volume again, and delete of a deleted volume succeeds',
    ['list'],
    async ({ backend, unitBytes }) => {
      const volume = newVolume({ requiredBytes: 4 * unitBytes });
      const first = await backend.create(volume);
      assert.deepEqual(await backend.create(volume), first);
      assert.deepEqual(await idsOf(backend), [volume.id]);
      await backend.delete(volume);
      await backend.delete(volume);
      await backend.delete({ id: 'a.never' });
      assert.deepEqual(await idsOf(backend), []);
    },
  );

  check('a volume is attached in the same way and detached as often as asked', [], async ({ backend }) => {
    const volume = await makeVolume(backend);
    const access = accessOf('n1');
    const reach = await backend.attach(volume, access);
    assert.deepEqual(await backend.attach(volume, access), reach);
    for (const id of [volume.id, volume.id, 'a.never']) await backend.detach({ id }, 'n1');
  });

  check('the capacity is the total, reserved or not', ['capacity'], async ({ backend, unitBytes }) => {
    const { totalBytes } = await backend.capacity();
    assert.ok(totalBytes > 0);
    await backend.create(newVolume({ requiredBytes: 8 * unitBytes }));
    assert.equal((await backend.capacity()).totalBytes, totalBytes);
  });

  check('volumes that are made at the same time are all there', ['list'], async ({ backend }) => {
    const volumes = Array.from({ length: 16 }, (_, index) => newVolume({ id: `a.many-${index}` }));
    await Promise.all(volumes.map(volume => backend.create(volume)));
    assert.deepEqual(await idsOf(backend), volumes.map(({ id }) => id).sort());
    await Promise.all(volumes.map(volume => backend.delete(volume)));
    assert.deepEqual(await idsOf(backend), []);
  });
}

/**
 * Tests that late calls of a gateway, for a record that no longer exists, neither pass its data on to the next volume
 * of that id nor delete that volume.
 */
function testNonces(check: Check): void {
  check('a volume with another nonce is another volume, and stays', ['list'], async opened => {
    const { backend, content } = opened;
    const own = newVolume();
    const first = await backend.create(own);
    content.write(own.id, 0, Buffer.from('old'));
    const another = { ...own, nonce: 'another' };
    await assertAnother(
      opened,
      () => backend.create(another),
      () => backend.delete(another),
    );
    await backend.delete({ id: own.id, nonce: 'another' });
    assert.deepEqual(await backend.create(own), first);
    assertHolds(content, own.id, 0, 'old');
    await backend.delete(own);
    await backend.create({ ...own, nonce: 'another' });
    await backend.delete(own);
    assert.deepEqual(await idsOf(backend), [own.id]);
    await backend.delete({ id: own.id });
    assert.deepEqual(await idsOf(backend), []);
  });

  check('an empty volume with another nonce is another volume, and stays', ['list'], async opened => {
    const { backend } = opened;
    const own = newVolume();
    await backend.create(own);
    const another = { ...own, nonce: 'another' };
    await assertAnother(
      opened,
      () => backend.create(another),
      () => backend.delete(another),
    );
    await backend.delete(another);
    assert.deepEqual(await idsOf(backend), [own.id]);
  });

  const missing = { code: /NOT_FOUND|FAILED_PRECONDITION/ };
  check(
    'a volume with another nonce is not attached, and is reported as missing',
    ['volumeHealth'],
    async opened => {
      const { backend } = opened;
      const another = { ...(await makeVolume(backend)), nonce: 'another' };
      await assert.rejects(backend.attach(another, accessOf('n1')), missing);
      const [entry] = await backend.volumeHealth(another);
      assert.equal(entry?.status, 'DATA_LOSS');
      await backend.detach(another, 'n1');
    },
  );

  check('a volume with another nonce does not grow', ['expand'], async ({ backend, unitBytes }) => {
    const volume = await makeVolume(backend);
    const another = { ...volume, nonce: 'another' };
    const bounds = { requiredBytes: 4 * unitBytes, limitBytes: 0 };
    await assert.rejects(backend.expand(another, bounds), missing);
    const asItIs = { requiredBytes: 0, limitBytes: 0 };
    assert.equal((await backend.expand(volume, asItIs)).sizeBytes, volume.sizeBytes);
  });

  check('a volume with another nonce is not modified', ['modification'], async opened => {
    const { modification } = opened.backend;
    const another = { ...(await makeVolume(opened.backend)), nonce: 'another' };
    const parameters = modification.parameters.parse(opened.mutableParameters);
    await assert.rejects(modification.apply(another, parameters), missing);
  });

  check('no snapshot is taken of a volume with another nonce', ['snapshots'], async ({ backend }) => {
    const another = { ...(await makeVolume(backend)), nonce: 'another' };
    await assert.rejects(backend.snapshots.create(newSnapshot('a.snapshot', another)), missing);
    assert.deepEqual(await idsOf(backend.snapshots), []);
  });

  for (const kind of ['snapshot', 'volume'] as const)
    check(`a copy of a ${kind} that carries another nonce is not the volume`, [kind], async opened => {
      const { backend, content } = opened;
      const volume = await makeVolume(backend, { id: 'a.source' });
      content.write(volume.id, 0, Buffer.from('old'));
      const wanted = newVolume({ id: 'a.clone', source: await sourceOf(backend, kind, volume) });
      await backend.create(wanted);
      const another = { ...wanted, nonce: 'another' };
      const empty = newVolume({ id: 'a.clone', nonce: 'another' });
      for (const one of [empty, another])
        await assertAnother(
          opened,
          () => backend.create(one),
          () => backend.delete(one),
        );
      await backend.delete(another);
      assertHolds(content, 'a.clone', 0, 'old');
    });

  check('a snapshot with another nonce is another snapshot, and stays', ['snapshots'], async opened => {
    const { backend } = opened;
    const { snapshots } = backend;
    const own = newSnapshot('a.snapshot', await makeVolume(backend));
    const first = await takeSnapshot(backend, own);
    const another = { ...own, nonce: 'another' };
    await assertAnother(
      opened,
      () => snapshots.create(another),
      () => snapshots.delete(another),
    );
    await snapshots.delete(another);
    assert.deepEqual(await takeSnapshot(backend, own), first);
    await snapshots.delete(own);
    assert.deepEqual(await idsOf(snapshots), []);
  });
}

function accessOf(nodeId: string): NodeAccess {
  const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' } as const;
  return { nodeId, attachmentId: 'x1', capability, readonly: false };
}

function testSources(check: Check): void {
  for (const kind of ['snapshot', 'volume'] as const) {
    check(`a volume made from a ${kind} has its bytes, and each goes its own way`, [kind], async opened => {
      const { backend, content } = opened;
      const volume = await makeVolume(backend, { id: 'a.source' });
      content.write(volume.id, 5_000, Buffer.from('old'));
      const source = await sourceOf(backend, kind, volume);
      const clone = await makeVolume(backend, { id: 'a.clone', source });
      assert.equal(clone.sizeBytes, volume.sizeBytes);
      content.write(volume.id, 5_000, Buffer.from('new'));
      content.write(clone.id, 9_000, Buffer.from('own'));
      assertHolds(content, clone.id, 5_000, 'old');
      assertHolds(content, volume.id, 9_000, '\0\0\0');
    });

    check(`a larger volume from a ${kind} is empty at its end, and filled once`, [kind], async opened => {
      const { backend, content, unitBytes } = opened;
      const volume = await makeVolume(backend, { id: 'a.source' });
      content.write(volume.id, 0, Buffer.from('old'));
      const source = await sourceOf(backend, kind, volume);
      const wanted = newVolume({ id: 'a.clone', source, requiredBytes: 3 * unitBytes });
      const clone = await backend.create(wanted);
      assert.ok(clone.sizeBytes >= 3 * unitBytes);
      assertHolds(content, 'a.clone', 0, 'old');
      assertHolds(content, 'a.clone', volume.sizeBytes, '\0\0\0');
      content.write('a.clone', 0, Buffer.from('own'));
      assert.deepEqual(await backend.create(wanted), clone);
      assertHolds(content, 'a.clone', 0, 'own');
    });
  }
}

function testOptions(check: Check): void {
  check('an unknown parameter is refused by name', [], async ({ backend }) => {
    for (const { parameters } of [backend, backend.modification ?? backend]) {
      const parsed = parameters.safeParse({ 'no-such-parameter': 'x' });
      assert.equal(parsed.success, false);
      assert.match(String(parsed.error), /no-such-parameter/);
    }
  });

  check('mutable parameters are applied at the start and later', ['modification'], async opened => {
    const { modification } = opened.backend;
    const mutableParameters = modification.parameters.parse(opened.mutableParameters);
    const volume = await makeVolume(opened.backend, { mutableParameters });
    for (const parameters of [mutableParameters, mutableParameters, {}])
      await modification.apply(volume, parameters);
  });

  check('a volume grows as often as asked, never shrinks, and keeps its bytes', ['expand'], async opened => {
    const { backend, content, unitBytes } = opened;
    const volume = await makeVolume(backend);
    content.write(volume.id, 0, Buffer.from('old'));
    const bounds = { requiredBytes: 4 * unitBytes, limitBytes: 0 };
    const { sizeBytes, nodeExpansionRequired } = await backend.expand(volume, bounds);
    assert.ok(sizeBytes >= bounds.requiredBytes);
    assert.equal((await backend.expand(volume, bounds)).sizeBytes, sizeBytes);
    assert.equal(typeof nodeExpansionRequired, 'boolean');
    const less = { requiredBytes: unitBytes, limitBytes: 0 };
    assert.equal((await backend.expand({ ...volume, sizeBytes }, less)).sizeBytes, sizeBytes);
    assertHolds(content, volume.id, 0, 'old');
    assertHolds(content, volume.id, sizeBytes - 3, '\0\0\0');
  });

  check('faults are listed once: none, or that the volume is missing', ['volumeHealth'], async opened => {
    const { backend } = opened;
    const volume = await makeVolume(backend);
    assert.deepEqual(await backend.volumeHealth(volume), []);
    await backend.delete(volume);
    const entries = await backend.volumeHealth(volume);
    assert.ok(entries.length > 0);
    assert.equal(new Set(entries.map(({ status, reason }) => `${status} ${reason}`)).size, entries.length);
    for (const { reason } of entries) assert.match(reason, /^[A-Z][A-Za-z0-9]*$/);
  });
}
