import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs, { renameSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';
import { test, type TestContext } from 'node:test';
import { loopDevicesOf } from '../../../../gateway/exports/loop.ts';
import { MiB, openRealBench, real } from '../../../harness/node/bench.ts';

/** Freezes the number of the kernel's last event, which other tests change, and counts the reads of devices. */
function observeReads(t: TestContext) {
  const seen = { event: 1, reads: 0 };
  const { readFileSync } = fs;
  const mock = t.mock.method(fs, 'readFileSync', (path: string, options: BufferEncoding) => {
    if (path === '/sys/kernel/uevent_seqnum') return `${seen.event}\n`;
    if (path.startsWith('/sys/block/')) seen.reads++;
    return readFileSync(path, options);
  });
  syncBuiltinESMExports();
  t.after(() => {
    mock.mock.restore();
    syncBuiltinESMExports();
  });
  return seen;
}

function open(t: TestContext) {
  const { directory } = openRealBench(t);
  const make = (name: string): string => {
    const path = `${directory}/${name}`;
    writeFileSync(path, '');
    truncateSync(path, MiB);
    return path;
  };
  return { directory, make };
}

function attach(path: string): string {
  return basename(execFileSync('losetup', ['--find', '--show', path], { encoding: 'utf8' }).trim());
}

function readEvent(): number {
  return Number(fs.readFileSync('/sys/kernel/uevent_seqnum', 'utf8'));
}

test('loop devices of other files are not read again until the kernel has another event', real(), async t => {
  const { make } = open(t);
  for (const name of ['one', 'two', 'three']) attach(make(name));
  const own = make('own');
  const seen = observeReads(t);
  assert.deepEqual(await loopDevicesOf(own), []);
  assert.ok(seen.reads >= 3);
  seen.reads = 0;
  assert.deepEqual(await loopDevicesOf(own), []);
  assert.equal(seen.reads, 0);
  const device = attach(own);
  seen.event++;
  assert.deepEqual(await loopDevicesOf(own), [device]);
});

test('the kernel counts an event when a loop device gets a file, and when it loses it', real(), async t => {
  const { make } = open(t);
  const before = readEvent();
  const device = attach(make('image'));
  const attached = readEvent();
  execFileSync('losetup', ['--detach', `/dev/${device}`]);
  assert.ok(attached > before && readEvent() > attached);
});

test(
  'a file has its loop device from the moment of the attach, and after it was moved or deleted',
  real(),
  async t => {
    const { directory, make } = open(t);
    const path = make('image');
    assert.deepEqual(await loopDevicesOf(path), []);
    const device = attach(path);
    assert.deepEqual(await loopDevicesOf(path), [device]);
    renameSync(path, `${directory}/moved`);
    assert.deepEqual([await loopDevicesOf(path), await loopDevicesOf(`${directory}/moved`)], [[], [device]]);
    renameSync(`${directory}/moved`, path);
    unlinkSync(path);
    assert.deepEqual(await loopDevicesOf(path), [device]);
    make('image');
    assert.deepEqual(await loopDevicesOf(path), [device]);
  },
);
