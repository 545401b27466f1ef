import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { poll } from '../../../src/lib/concurrency.ts';
import { holdOpen } from '../../../src/kit/fixtures/old-way.ts';
import { directoryOf, loopDevicesOf, testAsRoot } from '../../harness/machine.ts';

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
  const autoclear = `/sys/block/${basename(device)}/loop/autoclear`;
  const isMarked = async () => readFileSync(autoclear, 'utf8') === '1\n' || undefined;
  assert.ok(await poll(isMarked, { everyMs: 10, timeoutMs: 10_000 }), 'the device is never detached');
  await sleep(100);
  assert.deepEqual([loopDevicesOf(dir), isReleased], [[device], false]);
  closeSync(look);
  await release;
  assert.deepEqual(loopDevicesOf(dir), []);
});
