import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromPageToken, readPage } from '../../../../gateway/tables/paging.ts';
import type { Volume } from '../../../../src/api/volume.ts';
import { maxBodyBytes } from '../../../../src/api/operations.ts';

test('a page leads to the next, and the last one to none', async () => {
  const volumes = Array.from({ length: 5 }, (_, index) => volume(`a.v${index}`));
  const first = await pageOf(volumes, 4);
  assert.equal(first.entries.length, 4);
  assert.equal(fromPageToken('a', first.nextPageToken, 'volumes/a'), 'a.v3');
  assert.equal((await pageOf(volumes.slice(4), 4)).nextPageToken, undefined);
  assert.equal((await pageOf(volumes, 5)).nextPageToken, undefined);
});

test('a page of the largest volumes stays well below what an answer may have, and little more is read for it', async () => {
  const parameters = { p: 'x'.repeat(4_095) };
  const volumes = Array.from({ length: 1_000 }, (_, index) => ({
    ...volume(`a.v${String(index).padStart(4, '0')}`),
    parameters,
    context: parameters,
  }));
  const page = await pageOf(volumes, 1_000);
  assert.ok(page.entries.length > 0 && page.nextPageToken !== undefined);
  assert.ok(Buffer.byteLength(JSON.stringify(page)) < maxBodyBytes / 4);
  assert.ok(page.read <= page.entries.length + 50);
});

test('a volume that is larger than a page still comes, alone', async () => {
  const context = { c: 'x'.repeat(maxBodyBytes / 2) };
  const large = ['a.1', 'a.2'].map(id => Object.assign(volume(id), { context }));
  const first = await pageOf(large, 2);
  assert.equal(first.entries.length, 1);
  assert.equal(first.nextPageToken, 'volumes/a:a.1');
});

/** The first page of these, and how many were read for it. */
async function pageOf(volumes: readonly Volume[], limit: number) {
  let read = 0;
  const page = await readPage({ afterId: '', limit, list: 'volumes/a' }, async (afterId, count) => {
    const piece = volumes.filter(({ id }) => id > afterId).slice(0, count);
    read += piece.length;
    return piece;
  });
  return { ...page, read };
}

function volume(id: string): Volume {
  const parts = { pool: 'main', parameters: {}, context: {}, attachments: [] };
  return { id, name: id, state: 'ready', sizeBytes: 1, createdAt: new Date(0).toISOString(), ...parts };
}
