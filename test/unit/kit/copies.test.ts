import assert from 'node:assert/strict';
import { copyFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { tornCopies } from '../../../src/kit/chapters/torn-copies.ts';
import type { Kit } from '../../../src/kit/fixtures/kit.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';

const sizeBytes = 2 ** 20;

test('a group whose copies are larger than their volumes has the bytes of one point in time', async t => {
  await tornCopies['FL-9.2-4'].check(kitFor(t, { isTorn: false }), 'FL-9.2-4');
});

test('a group that copies one volume later than the other is torn', async t => {
  await assert.rejects(
    tornCopies['FL-9.2-4'].check(kitFor(t, { isTorn: true }), 'FL-9.2-4'),
    /createGroup of "g\d+" copies the bytes of one point in time, not/,
  );
});

/** Makes a kit whose vendor groups copies of files, and makes every restored volume twice as large as its source. */
function kitFor(t: TestContext, { isTorn }: { readonly isTorn: boolean }): Kit {
  const directory = temporaryDirectory(t);
  const sizes = new Map<string, number>();
  let made = 0;
  const pathOf = (id: string): string => join(directory, id);
  const createVolume = async ({ source }: { readonly source?: { readonly snapshotId: string } } = {}) => {
    const id = `v${++made}`;
    if (source) copyFileSync(pathOf(source.snapshotId), pathOf(id));
    else writeFileSync(pathOf(id), '');
    sizes.set(id, source ? 2 * sizeBytes : sizeBytes);
    truncateSync(pathOf(id), sizes.get(id));
    return { id, sizeBytes: sizes.get(id) };
  };
  const createGroup = async (
    _: string,
    input: { readonly body: { readonly volumeIds: readonly string[] } },
  ) => {
    for (const volumeId of input.body.volumeIds) {
      copyFileSync(pathOf(volumeId), pathOf(`s-${volumeId}`));
      if (isTorn) await new Promise(resolve => void setTimeout(resolve, 50));
    }
    // Writes go on until the answer.
    await new Promise(resolve => void setTimeout(resolve, 50));
    return { code: undefined };
  };
  const kit = {
    hasData: true,
    canWrite: () => true,
    trail: [],
    target: { url: new URL('http://vendor.example') },
    has: () => true,
    id: () => `g${++made}`,
    random: { below: () => 0 },
    createVolume,
    settle: createGroup,
    createGroup: async (volumes: readonly { readonly id: string }[]) => ({
      snapshots: volumes.map(({ id }) => ({ id: `s-${id}`, volumeId: id })),
    }),
    createNode: async () => 'n',
    attach: async (id: string) => ({
      attachment: { protocol: 'loop', path: pathOf(id), sizeBytes: sizes.get(id) },
    }),
    done: async () => ({}),
  };
  return kit as unknown as Kit;
}
