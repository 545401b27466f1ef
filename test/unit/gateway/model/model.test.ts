import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFull } from '../../../harness/sample.ts';
import { event } from './operations.ts';
import { toCommand } from './play.ts';
import { assertPlays } from './run.ts';
import { openMemoryStorage } from './storage.ts';

const usualRuns = isFull ? 70 : 20;

test('whatever is asked and whatever goes wrong, what must be there is there in the end, once, with its bytes', async t => {
  let count = 0;
  const command = event.map(found => toCommand(found, () => count++));
  const isUsual = await assertPlays(t, {
    openStorage: openMemoryStorage,
    command,
    mostCommands: 100,
    usualRuns,
  });
  t.diagnostic(`${count} commands`);
  if (isUsual) assert.ok(count >= 25 * usualRuns, `only ${count} commands`);
});
