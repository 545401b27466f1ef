import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromPageToken, pageOf } from '../../../../gateway/tables/paging.ts';
import type { Volume } from '../../../../src/api/volume.ts';
import { maxBodyBytes } from '../../../../src/api/operations.ts';

test('a page leads to the next, and the last one to none', () => {
  const volumes = Array.from({ length: 5 }, (_, index) => volume(`a.v${index}`));
  const first = pageOf(volumes, 4, 'volumes');
  assert.equal(first.entries.length, 4);
  assert.equal(fromPageToken('a', first.nextPageToken, 'volumes'), 'a.v3');
  assert.equal(pageOf(volumes.slice(4), 4, 'volumes').nextPageToken, undefined);
  assert.equal(pageOf(volumes, 5, 'volumes').nextPageToken, undefined);
});

test('a page of the largest volumes stays well below what an answer may have', () => {
  const parameters = { p: 'x'.repeat(4_095) };
  const volumes = Array.from({ length: 1_000 }, (_, index) => ({
    ...volume(`a.v${String(index).padStart(4, '0')}`),
    parameters,
    context: parameters,
  }));
  const page = pageOf(volumes, 1_000, 'volumes');
  assert.ok(page.entries.length > 0 && page.nextPageToken !== undefined);
  assert.ok(Buffer.byteLength(JSON.stringify(page)) < maxBodyBytes / 2);
});

test('a volume that is larger than a page still comes, alone', () => {
  const large = { ...volume('a.large'), context: { c: 'x'.repeat(maxBodyBytes / 2) } };
  assert.equal(pageOf([large, large], 2, 'volumes').entries.length, 1);
});

function volume(id: string): Volume {
  const parts = { pool: 'main', parameters: {}, context: {}, attachments: [] };
  return { id, name: id, state: 'ready', sizeBytes: 1, createdAt: new Date(0).toISOString(), ...parts };
}
