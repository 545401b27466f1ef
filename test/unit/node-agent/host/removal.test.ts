import assert from 'node:assert/strict';
import { test } from 'node:test';
import { removeWith } from '../../../../node-agent/host/sysfs.ts';

test('a late removal is awaited, and a blocked one is reported with its user', async () => {
  const sinceMs = performance.now();
  const isThere = async () => performance.now() - sinceMs < 7_000;
  const seen = removeWith(async () => {}, { what: 'it', isThere, findUser: async () => 'process 7' });
  const unseen = removeWith(async () => {}, { what: 'it', isThere, findUser: async () => undefined });
  await assert.rejects(seen, {
    code: 'UNAVAILABLE',
    detail: 'it still exists after it was removed: it is held by process 7',
  });
  await unseen;
});
