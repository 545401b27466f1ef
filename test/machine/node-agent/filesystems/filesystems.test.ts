import assert from 'node:assert/strict';
import { test } from 'node:test';
import { btrfs } from '../../../../node-agent/filesystems/btrfs.ts';
import { ext4 } from '../../../../node-agent/filesystems/ext4.ts';
import { filesystems } from '../../../../node-agent/filesystems/index.ts';
import { xfs } from '../../../../node-agent/filesystems/xfs.ts';
import { testFilesystem } from '../../../suites/filesystem.ts';
import {
  findMissing,
  openFakeBench,
  openRealBench,
  whyNoMachine,
} from '../../../harness/node-agent-bench.ts';

const others = new Map([
  [ext4, xfs],
  [xfs, ext4],
  [btrfs, ext4],
]);

for (const filesystem of filesystems) {
  const other = others.get(filesystem);
  assert.ok(other, `${filesystem.name} has no other filesystem to be told apart from`);
  testFilesystem({
    name: `${filesystem.name} on the fake machine`,
    skip: undefined,
    filesystem,
    other,
    open: () => openFakeBench(),
  });
  testFilesystem({
    name: `${filesystem.name} on this machine`,
    skip: whyNoMachine ?? findMissing([`mkfs.${filesystem.name}`, `mkfs.${other.name}`]),
    filesystem,
    other,
    open: openRealBench,
  });
}

test('no filesystem is made by force', () => {
  for (const { make } of filesystems) {
    const { args } = make('/dev/x');
    assert.deepEqual(args.slice(-2), ['--', '/dev/x']);
    assert.ok(!args.some(arg => /^(-f|-F|--force|-FF)$/.test(arg)), args.join(' '));
  }
});
