import assert from 'node:assert/strict';
import { test } from 'node:test';
import { btrfs } from '../../../../node-agent/filesystems/btrfs.ts';
import { ext4 } from '../../../../node-agent/filesystems/ext4.ts';
import { xfs } from '../../../../node-agent/filesystems/xfs.ts';
import { requireFlags } from '../../../../node-agent/volumes/request-checks.ts';

const allowed = [
  {
    filesystem: ext4,
    flags: ['noatime', 'ro', 'discard', 'commit=30', 'data=ordered', 'barrier=0', 'barrier'],
  },
  { filesystem: xfs, flags: ['nosuid', 'logbsize=256k', 'allocsize=64m', 'nouuid'] },
  { filesystem: btrfs, flags: ['compress=zstd:3', 'discard=async', 'discard', 'ssd'] },
  { filesystem: ext4, flags: ['context="system_u:object_r:container_file_t:s0:c10,c1023"'] },
  { filesystem: xfs, flags: ['context=system_u:object_r:container_file_t:s0', 'noatime'] },
  { filesystem: btrfs, flags: ['context="system_u:object_r:container_file_t:s0-s0:c0.c1023"'] },
];

const refused = [
  { filesystem: ext4, flag: 'noatime,suid' },
  { filesystem: ext4, flag: 'noatime\nsuid' },
  { filesystem: ext4, flag: 'commit=30,data=writeback' },
  { filesystem: ext4, flag: 'commit=' },
  { filesystem: ext4, flag: 'data=anything' },
  { filesystem: ext4, flag: 'errors=panic' },
  { filesystem: ext4, flag: 'noatime=1' },
  { filesystem: ext4, flag: '' },
  { filesystem: ext4, flag: ' noatime' },
  { filesystem: ext4, flag: '--bind' },
  { filesystem: ext4, flag: 'bind' },
  { filesystem: ext4, flag: 'remount' },
  { filesystem: ext4, flag: 'suid' },
  { filesystem: ext4, flag: 'journal_path=/dev/vda' },
  { filesystem: ext4, flag: 'constructor' },
  { filesystem: ext4, flag: 'context=system_u:object_r:container_file_t:s0:c1,c2' },
  { filesystem: ext4, flag: 'context="system_u:object_r:container_file_t:s0",suid' },
  { filesystem: ext4, flag: 'context="system_u:object_r:container_file_t:s0:c1,suid"' },
  { filesystem: ext4, flag: 'context=' },
  { filesystem: ext4, flag: 'context="' },
  { filesystem: ext4, flag: 'context="a:b:c:s0\n"' },
  { filesystem: ext4, flag: 'fscontext="system_u:object_r:container_file_t:s0"' },
  { filesystem: xfs, flag: 'logdev=/dev/vda' },
  { filesystem: xfs, flag: 'data=ordered' },
  { filesystem: btrfs, flag: 'subvol=/other' },
  { filesystem: btrfs, flag: 'device=/dev/vda' },
];

for (const { filesystem, flags } of allowed) {
  test(`${filesystem.name} takes ${flags.join(' ')}`, () => requireFlags(flags, filesystem));
}

for (const { filesystem, flag } of refused) {
  test(`${filesystem.name} refuses the mount flag ${JSON.stringify(flag)} and names it`, () => {
    assert.throws(() => requireFlags(['noatime', flag], filesystem), {
      code: 'INVALID_ARGUMENT',
      message: `mount flag "${flag}" is not allowed for ${filesystem.name}`,
    });
  });
}
