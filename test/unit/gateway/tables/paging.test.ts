import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromPageToken, readPage } from '../../../../gateway/tables/paging.ts';
import type { Volume } from '../../../../src/api/volume.ts';
import { maxAnswerBytes } from '../../../../src/api/limits.ts';

test('a page leads to the next one, and the last one to none', async () => {
  const volumes = Array.from({ length: 5 }, (_, index) => volume(`a.v${index}`));
  const first = await pageOf(volumes, 4);
  assert.equal(first.entries.length, 4);
  assert.equal(fromPageToken('a', first.nextPageToken, 'volumes/a'), 'a.v3');
  assert.equal((await pageOf(volumes.slice(4), 4)).nextPageToken, undefined);
  assert.equal((await pageOf(volumes, 5)).nextPageToken, undefined);
});

test('a page of the largest volumes stays well below the limit of an answer, and little more is read for it', async () => {
  const parameters = { p: 'x'.repeat(4_095) };
  const volumes = Array.from({ length: 1_000 }, (_, index) => ({
    ...volume(`a.v${String(index).padStart(4, '0')}`),
    parameters,
    context: parameters,
  }));
  const page = await pageOf(volumes, 1_000);
  assert.ok(page.entries.length > 0 && page.nextPageToken !== undefined);
  assert.ok(Buffer.byteLength(JSON.stringify(page)) < maxAnswerBytes / 4);
  assert.ok(page.read <= page.entries.length + 50);
  assert.ok(
    Math.max(...page.pieces) <= 8,
    `the largest volumes were read ${page.pieces.join(', ')} at a time`,
  );
});

test('a page of usual volumes is read in few pieces', async () => {
  const volumes = Array.from({ length: 1_000 }, (_, index) => volume(`a.v${String(index).padStart(4, '0')}`));
  const { entries, pieces } = await pageOf(volumes, 1_000);
  assert.equal(entries.length, 1_000);
  assert.ok(pieces.length <= 1 + Math.ceil(1_000 / 50), `${pieces.length} pieces`);
});

test('a piece that is read entry by entry is read only as far as the page needs', async () => {
  const context = { c: 'x'.repeat(maxAnswerBytes / 32) };
  let read = 0;
  async function* piece(_: string, count: number): AsyncGenerator<Volume, void> {
    for (; read < count; read++) yield Object.assign(volume(`a.${read}`), { context });
  }
  const { entries } = await readPage({ afterId: '', limit: 1_000, list: 'volumes/a' }, piece);
  assert.equal(entries.length, 3);
  assert.equal(read, 3);
});

test('a volume that is larger than a page still comes, alone', async () => {
  const context = { c: 'x'.repeat(maxAnswerBytes / 2) };
  const large = ['a.1', 'a.2'].map(id => Object.assign(volume(id), { context }));
  const first = await pageOf(large, 2);
  assert.equal(first.entries.length, 1);
  assert.equal(first.nextPageToken, 'volumes/a:a.1');
});

/** Returns the first page of these volumes, the number of volumes read for it, and the number read at a time. */
async function pageOf(volumes: readonly Volume[], limit: number) {
  let read = 0;
  const pieces: number[] = [];
  const page = await readPage({ afterId: '', limit, list: 'volumes/a' }, async (afterId, count) => {
    const piece = volumes.filter(({ id }) => id > afterId).slice(0, count);
    read += piece.length;
    pieces.push(piece.length);
    return piece;
  });
  return { ...page, read, pieces };
}

function volume(id: string): Volume {
  const parts = { pool: 'main', parameters: {}, context: {}, attachments: [] };
  return { id, name: id, state: 'ready', sizeBytes: 1, createdAt: new Date(0).toISOString(), ...parts };
}
