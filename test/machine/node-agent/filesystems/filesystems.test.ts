import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ext4 } from '../../../../node-agent/filesystems/ext4.ts';
import { filesystems } from '../../../../node-agent/filesystems/index.ts';
import { xfs } from '../../../../node-agent/filesystems/xfs.ts';
import { testFilesystem } from '../../../suites/filesystem.ts';

for (const filesystem of filesystems) testFilesystem(filesystem, filesystem === ext4 ? xfs : ext4);

test('no filesystem is made by force', () => {
  for (const { make } of filesystems) {
    const { args } = make('/dev/x');
    assert.deepEqual(args.slice(-2), ['--', '/dev/x']);
    assert.ok(!args.some(arg => /^(-f|-F|--force|-FF)$/.test(arg)), args.join(' '));
  }
});
