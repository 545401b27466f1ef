import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  createMountReader,
  mountsAt,
  mountsBelow,
  parseMountinfo,
  topMount,
} from '../../../src/lib/linux/mountinfo.ts';

const text = String.raw`22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 22 7:0 / /a\040b ro,nosuid shared:2 master:1 - xfs /dev/loop0 rw,nouuid
41 22 0:39 /sub /a rw - btrfs /dev/loop1 rw
42 41 0:40 / /a rw - tmpfs none rw
43 22 0:41 / /ab rw - tmpfs  rw
44 22 0:42 / /c rw shared:3 - 9p drvfs rw,path=C:\Program Files - x,mmap
`;

test('a line is read with or without optional fields, and escapes are decoded', () => {
  assert.deepEqual(parseMountinfo(text)[1], {
    id: 40,
    parentId: 22,
    device: '7:0',
    root: '/',
    path: '/a b',
    options: ['ro', 'nosuid'],
    propagation: ['shared:2', 'master:1'],
    type: 'xfs',
    source: '/dev/loop0',
    superOptions: ['rw', 'nouuid'],
  });
  assert.equal(parseMountinfo(text)[2]?.propagation, undefined);
  assert.equal(parseMountinfo(text)[4]?.source, '');
});

test("a space in a filesystem's options, which not every filesystem escapes, hides no mount", () => {
  const { propagation, type, superOptions } = parseMountinfo(text)[5] ?? {};
  assert.deepEqual([propagation, type], [['shared:3'], '9p']);
  assert.deepEqual(superOptions, ['rw', String.raw`path=C:\Program Files - x`, 'mmap']);
});

test('an invalid line is an error', () => {
  assert.throws(() => parseMountinfo('22 1 254:0 / /\n'), {
    message: 'not a mountinfo line: "22 1 254:0 / /"',
  });
});

test('mounts are found at a path, the topmost last, and below it', () => {
  const mounts = parseMountinfo(text);
  const ids = mountsAt(mounts, '/a').map(({ id }) => id);
  assert.deepEqual(ids, [41, 42]);
  assert.equal(topMount(mounts, '/a')?.id, 42);
  assert.equal(topMount(mounts, '/b'), undefined);
  assert.deepEqual(mountsBelow(mounts, '/a'), []);
});

test('a reader sees the current mounts at each read, in order', () => {
  let now = text;
  const read = createMountReader(() => now);
  const lines = text.trim().split('\n');
  const reads = [
    lines,
    lines.toReversed(),
    lines.slice(0, 1),
    lines,
    lines.slice(0, -2),
    lines,
    lines.toSpliced(2, 1),
    [],
    lines,
  ];
  for (const seen of reads) {
    now = seen.map(line => `${line}\n`).join('');
    assert.deepEqual(read(), parseMountinfo(now));
  }
  now = 'no mount\n';
  for (let tries = 0; tries < 2; tries++) assert.throws(read, /not a mountinfo line/);
});

test('a mount keeps no text of other mounts in memory', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const path = '/var/lib/kubelet/plugins/kubernetes.io/csi/csi.fairlead.dev/globalmount';
  const all = Array.from({ length: 1_000 }, (_, index) => `40 22 7:0 / ${path}-${index} rw - xfs none rw\n`);
  let count = 0;
  const read = createMountReader(() => Buffer.from(all.slice(0, count).join('')).toString());
  collect();
  const before = process.memoryUsage().heapUsed;
  for (; count < all.length; count++) read();
  collect();
  const grownBytes = process.memoryUsage().heapUsed - before;
  assert.equal(read().length, all.length);
  // With the text of each read, it would be 50 MB.
  assert.ok(grownBytes < 10 * 1024 * 1024, `${grownBytes} bytes`);
});
