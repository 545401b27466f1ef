import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Backend, NewVolume } from '../../gateway/backend.ts';
import { isProblem } from '../harness/gateway-problems.ts';

/** Opens a backend that holds nothing; what it needs is removed when the test ends. */
export type OpenBackend = (t: TestContext) => Promise<Backend>;

const mebibyte = 2 ** 20;

/** Everything that a backend must do whatever its storage is; `roomBytes` is what it was opened with. */
export function testBackend(open: OpenBackend, roomBytes: number): void {
  test('a volume has a size within what was asked', async t => {
    const backend = await open(t);
    const rows = [
      { requiredBytes: 0, limitBytes: 0 },
      { requiredBytes: 1, limitBytes: 0 },
      { requiredBytes: 0, limitBytes: 3 * mebibyte },
      { requiredBytes: 2 * mebibyte, limitBytes: 2 * mebibyte },
      { requiredBytes: 2 * mebibyte + 1, limitBytes: 8 * mebibyte },
    ];
    for (const [index, row] of rows.entries()) {
      const { sizeBytes } = await backend.create(newVolume({ id: `a.size-${index}`, ...row }));
      assert.ok(sizeBytes > 0 && sizeBytes >= row.requiredBytes, `${sizeBytes} for ${JSON.stringify(row)}`);
      assert.ok(
        row.limitBytes === 0 || sizeBytes <= row.limitBytes,
        `${sizeBytes} for ${JSON.stringify(row)}`,
      );
    }
  });

  test('creating again gives the same volume, whatever the size asked the second time', async t => {
    const backend = await open(t);
    const volume = newVolume({ requiredBytes: 4 * mebibyte });
    const first = await backend.create(volume);
    assert.deepEqual(await backend.create(volume), first);
    assert.deepEqual(await backend.create({ ...volume, requiredBytes: mebibyte }), first);
    assert.deepEqual(await listed(backend), [volume.id]);
  });

  test('a volume that can never fit is OUT_OF_RANGE, and nothing is left', async t => {
    const backend = await open(t);
    const volume = newVolume({ requiredBytes: roomBytes + mebibyte });
    await assert.rejects(backend.create(volume), isProblem('OUT_OF_RANGE'));
    assert.deepEqual(await listed(backend), []);
  });

  test('a volume that does not fit now is RESOURCE_EXHAUSTED, nothing is left, and it fits once there is room', async t => {
    const backend = await open(t);
    const large = newVolume({ id: 'a.large', requiredBytes: roomBytes - mebibyte });
    const second = newVolume({ id: 'a.second', requiredBytes: 2 * mebibyte });
    await backend.create(large);
    await assert.rejects(backend.create(second), isProblem('RESOURCE_EXHAUSTED'));
    assert.deepEqual(await listed(backend), [large.id]);
    await backend.delete({ id: large.id });
    assert.equal((await backend.create(second)).sizeBytes, 2 * mebibyte);
  });

  test('deleting removes the volume; deleting again or one that never was is fine', async t => {
    const backend = await open(t);
    const volume = newVolume();
    await backend.create(volume);
    await backend.delete(volume);
    await backend.delete(volume);
    await backend.delete({ id: 'a.never' });
    assert.deepEqual(await listed(backend), []);
  });

  test('a volume is attached as often as asked, in the same way, and detached as often', async t => {
    const backend = await open(t);
    const volume = newVolume();
    const { sizeBytes } = await backend.create(volume);
    const known = { id: volume.id, sizeBytes, parameters: {} };
    const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' } as const;
    const access = { nodeId: 'n1', attachmentId: 'x1', capability, readonly: false };
    const reach = await backend.attach(known, access);
    assert.deepEqual(await backend.attach(known, access), reach);
    await backend.detach(known, 'n1');
    await backend.detach(known, 'n1');
    await backend.detach({ id: 'a.never' }, 'n1');
  });

  test('the capacity falls with each volume and rises when it goes', async t => {
    const backend = await open(t);
    if (!backend.capacity) return;
    const before = await backend.capacity();
    const volume = newVolume({ requiredBytes: 8 * mebibyte });
    const { sizeBytes } = await backend.create(volume);
    assert.equal((await backend.capacity()).availableBytes, (before.availableBytes ?? 0) - sizeBytes);
    await backend.delete(volume);
    assert.deepEqual(await backend.capacity(), before);
  });

  test('an unknown parameter is refused by name', async t => {
    const backend = await open(t);
    const parsed = backend.parameters.safeParse({ 'no-such-parameter': 'x' });
    assert.equal(parsed.success, false);
    assert.match(String(parsed.error), /no-such-parameter/);
  });

  test('volumes that are made at the same time are all there', async t => {
    const backend = await open(t);
    const volumes = Array.from({ length: 16 }, (_, index) =>
      newVolume({ id: `a.many-${index}`, requiredBytes: mebibyte }),
    );
    await Promise.all(volumes.map(volume => backend.create(volume)));
    assert.deepEqual(await listed(backend), volumes.map(({ id }) => id).sort());
    await Promise.all(volumes.map(volume => backend.delete(volume)));
    assert.deepEqual(await listed(backend), []);
  });
}

/** A volume to make, of one mebibyte when nothing else is said. */
export function newVolume(volume: Partial<NewVolume> = {}): NewVolume {
  return {
    id: 'a.volume',
    requiredBytes: mebibyte,
    limitBytes: 0,
    parameters: {},
    capabilities: [{ accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' }],
    ...volume,
  };
}

async function listed(backend: Backend): Promise<readonly string[]> {
  return backend.list ? (await Array.fromAsync(backend.list())).sort() : [];
}
