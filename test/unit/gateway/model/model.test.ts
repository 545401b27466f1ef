import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFull } from '../../../harness/sample.ts';
import { event } from '../../../harness/model/operations.ts';
import { toCommand } from '../../../harness/model/play.ts';
import { assertPlays } from '../../../harness/model/run.ts';
import { openMemoryStorage } from '../../../harness/model/storage.ts';

const usualRuns = isFull ? 70 : 20;

test('after any requests and failures, every required object exists once, with its data', async t => {
  let count = 0;
  const command = event.map(found => toCommand(found, () => count++));
  const isUsual = await assertPlays(t, {
    openStorage: openMemoryStorage,
    command,
    maxCommands: 100,
    usualRuns,
  });
  t.diagnostic(`${count} commands`);
  if (isUsual) assert.ok(count >= 25 * usualRuns, `only ${count} commands`);
});
