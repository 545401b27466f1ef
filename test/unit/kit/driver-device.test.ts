import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { openDriverDevice } from '../../../src/kit/fixtures/driver-device.ts';
import { undoAll } from '../../../src/kit/fixtures/undo.ts';
import { driverAttachment, servePlugin } from '../../fakes/storages/node-plugin.ts';

test('a file in place of a device is refused, and every call is undone even after one fails', async t => {
  const before = leftovers();
  const { socketPath, calls } = await servePlugin(t, { refuses: true });
  const undo = new AsyncDisposableStack();
  await assert.rejects(openDriverDevice(socketPath, driverAttachment, undo), {
    message: /driver "old\.example" leaves a block device at ".*", not another file: set TMPDIR/,
    kind: 'fault',
  });
  await assert.rejects(undoAll(undo), { message: /no unpublish/ });
  assert.deepEqual(calls, ['stage', 'publish', 'unpublish', 'unstage']);
  assert.deepEqual(leftovers(), before);
});

/** Lists the directories that the kit made for node plugins. */
function leftovers(): readonly string[] {
  return readdirSync(tmpdir()).filter(name => name.startsWith('fairlead-verify-'));
}
