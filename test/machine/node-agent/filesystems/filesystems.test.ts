import assert from 'node:assert/strict';
import { test } from 'node:test';
import { btrfs } from '../../../../node-agent/filesystems/btrfs.ts';
import { ext4 } from '../../../../node-agent/filesystems/ext4.ts';
import { filesystems } from '../../../../node-agent/filesystems/index.ts';
import { xfs } from '../../../../node-agent/filesystems/xfs.ts';
import { testFilesystem } from '../../../suites/filesystem.ts';

testFilesystem(ext4, xfs);
testFilesystem(xfs, ext4);
testFilesystem(btrfs, ext4);

test('no filesystem is made with a force flag', () => {
  for (const { make } of filesystems) {
    const { args } = make({ path: '/dev/x', sizeBytes: 2 ** 30 });
    assert.deepEqual(args.slice(-2), ['--', '/dev/x']);
    assert.ok(!args.some(arg => /^(-f|-F|--force|-FF)$/.test(arg)), args.join(' '));
  }
});
