import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAssets } from '../../../../gateway/console/assets.ts';

test('a browser loads at most 120 kB for the whole console', async () => {
  const assets = [...(await readAssets()).values()];
  const bytes = assets.reduce((sum, { brotli }) => sum + brotli.length, 0);
  assert.ok(bytes > 10_000 && bytes <= 120_000, `${bytes} bytes`);
});
