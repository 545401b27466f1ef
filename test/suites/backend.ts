import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Backend, NewVolume } from '../../gateway/backend.ts';
import { chooseSize } from '../../gateway/volumes/size.ts';

/** Opens a backend that holds nothing; what it needs is removed when the test ends. */
export type OpenBackend = (t: TestContext) => Promise<Backend>;

const mebibyte = 2 ** 20;

/** Everything that a backend must do whatever its storage is. */
export function testBackend(open: OpenBackend): void {
  test('a volume has the size that the gateway chose, or one within what was asked', async t => {
    const backend = await open(t);
    const rows = [
      { requiredBytes: 0, limitBytes: 0 },
      { requiredBytes: 1, limitBytes: 0 },
      { requiredBytes: 0, limitBytes: 3 * mebibyte },
      { requiredBytes: 2 * mebibyte, limitBytes: 2 * mebibyte },
      { requiredBytes: 2 * mebibyte + 1, limitBytes: 8 * mebibyte },
    ];
    for (const [index, row] of rows.entries()) {
      const requiredBytes = backend.sizes ? chooseSize(row, backend.sizes) : row.requiredBytes;
      const { sizeBytes } = await backend.create(newVolume({ id: `a.size-${index}`, ...row, requiredBytes }));
      const told = `${sizeBytes} for ${JSON.stringify(row)}`;
      if (backend.sizes) assert.equal(sizeBytes, requiredBytes, told);
      assert.ok(sizeBytes > 0 && sizeBytes >= row.requiredBytes, told);
      assert.ok(row.limitBytes === 0 || sizeBytes <= row.limitBytes, told);
    }
  });

  test('creating again gives the same volume', async t => {
    const backend = await open(t);
    const volume = newVolume({ requiredBytes: 4 * mebibyte });
    const first = await backend.create(volume);
    assert.deepEqual(await backend.create(volume), first);
    assert.deepEqual(await listed(backend), [volume.id]);
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

  test('the capacity is what there is in all, reserved or not', async t => {
    const backend = await open(t);
    const capacity = memberOf(t, backend, 'capacity');
    if (!capacity) return;
    const { totalBytes } = await capacity();
    assert.ok(totalBytes > 0);
    await backend.create(newVolume({ requiredBytes: 8 * mebibyte }));
    assert.equal((await capacity()).totalBytes, totalBytes);
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

/** A member of the backend; where it is absent the test is skipped. */
export function memberOf<Name extends keyof Backend>(
  t: TestContext,
  backend: Backend,
  name: Name,
): NonNullable<Backend[Name]> | undefined {
  const member = backend[name];
  if (member === undefined) t.skip(`backend "${backend.name}" has no ${name}`);
  return member ?? undefined;
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
