import assert from 'node:assert/strict';
import fs, { mkdirSync, renameSync, unlinkSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname } from 'node:path';
import { test, type TestContext } from 'node:test';
import { loopDevicesOf } from '../../../../gateway/local/loop-devices.ts';
import { MiB, openRealBench, real } from '../../../harness/node.ts';
import { connectLoop, disconnectLoop } from '../backends/image-pool.ts';

/** Freezes the number of the kernel's last event, which other tests change, and counts the reads of devices. */
function observeReads(t: TestContext) {
  const seen = { event: 1, reads: 0 };
  const { readFileSync } = fs;
  const mock = t.mock.method(fs, 'readFileSync', (path: string, options: BufferEncoding) => {
    if (path === '/sys/kernel/uevent_seqnum') return `${seen.event}\n`;
    if (path.startsWith('/sys/devices/virtual/block/')) seen.reads++;
    return readFileSync(path, options);
  });
  syncBuiltinESMExports();
  t.after(() => {
    mock.mock.restore();
    syncBuiltinESMExports();
  });
  return seen;
}

function readEvent(): number {
  return Number(fs.readFileSync('/sys/kernel/uevent_seqnum', 'utf8'));
}

test('loop devices of other files are not read again until the kernel has another event', real(), async t => {
  const { makeImage } = openRealBench(t);
  for (const name of ['one', 'two', 'three']) connectLoop(makeImage(name, { sizeBytes: MiB }));
  const own = makeImage('own', { sizeBytes: MiB });
  const seen = observeReads(t);
  assert.deepEqual(await loopDevicesOf(own), []);
  assert.ok(seen.reads >= 3);
  seen.reads = 0;
  assert.deepEqual(await loopDevicesOf(own), []);
  assert.equal(seen.reads, 0);
  const device = basename(connectLoop(own));
  seen.event++;
  assert.deepEqual(await loopDevicesOf(own), [device]);
});

test('the kernel counts an event when a loop device gets a file, and when it loses it', real(), async t => {
  const { makeImage } = openRealBench(t);
  const before = readEvent();
  const device = connectLoop(makeImage('image', { sizeBytes: MiB }));
  const attached = readEvent();
  disconnectLoop(device);
  assert.ok(attached > before && readEvent() > attached);
});

test(
  'a file has its loop device from the moment of the attach, and after it was moved or deleted',
  real(),
  async t => {
    const { directory, makeImage } = openRealBench(t);
    const path = makeImage('image', { sizeBytes: MiB });
    assert.deepEqual(await loopDevicesOf(path), []);
    const device = basename(connectLoop(path));
    assert.deepEqual(await loopDevicesOf(path), [device]);
    const moved = `${directory}/moved/image`;
    mkdirSync(dirname(moved));
    renameSync(path, moved);
    // The listing while the file is elsewhere.
    connectLoop(makeImage('other', { sizeBytes: MiB }));
    assert.deepEqual([await loopDevicesOf(path), await loopDevicesOf(moved)], [[], [device]]);
    renameSync(moved, path);
    unlinkSync(path);
    assert.deepEqual(await loopDevicesOf(path), [device]);
    makeImage('image', { sizeBytes: MiB });
    assert.deepEqual(await loopDevicesOf(path), [device]);
  },
);
