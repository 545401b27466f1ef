import assert from 'node:assert/strict';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { holdOpen } from '../../../src/kit/fixtures/old-way.ts';
import { directoryOf } from '../../harness/dev.ts';
import { loopDevicesOf, testAsRoot } from '../../harness/machine.ts';

testAsRoot('a way is released only once no loop device has its file', async t => {
  const dir = directoryOf(t);
  const path = join(dir, 'volume');
  writeFileSync(path, Buffer.alloc(1024 * 1024));
  const way = await holdOpen({
    protocol: 'loop',
    attachmentId: 'one',
    path,
    sizeBytes: 1024 * 1024,
    readonly: false,
    mayFormat: false,
  });
  const [device = ''] = loopDevicesOf(dir);
  // Another program looks at the device.
  const look = openSync(device, 'r');
  let isReleased = false;
  const release = way.release().then(() => (isReleased = true));
  await sleep(500);
  assert.deepEqual([loopDevicesOf(dir), isReleased], [[device], false]);
  closeSync(look);
  await release;
  assert.deepEqual(loopDevicesOf(dir), []);
});
