import assert from 'node:assert/strict';
import { test } from 'node:test';
import { btrfs } from '../../../../node-agent/filesystems/btrfs.ts';
import { ext4 } from '../../../../node-agent/filesystems/ext4.ts';
import { xfs } from '../../../../node-agent/filesystems/xfs.ts';
import { requireFlags } from '../../../../node-agent/volumes/request-checks.ts';

const context = 'system_u:object_r:container_file_t:s0';

const allowed = [
  [ext4, ['noatime', 'ro', 'discard', 'commit=30', 'data=ordered', 'barrier=0', 'barrier']],
  [ext4, [`context="${context}:c10,c1023"`]],
  [xfs, ['nosuid', 'logbsize=256k', 'allocsize=64m', 'nouuid', `context=${context}`]],
  [btrfs, ['compress=zstd:3', 'discard=async', 'discard', 'ssd', `context="${context}-s0:c0.c1023"`]],
] as const;

const refused = [
  [ext4, ['noatime,suid', 'noatime\nsuid', 'noatime=1', '', ' noatime', '--bind', 'bind', 'remount', 'suid']],
  [ext4, ['commit=30,data=writeback', 'commit=', 'data=anything', 'errors=panic']],
  [ext4, ['journal_path=/dev/vda', 'constructor']],
  [ext4, [`context=${context}:c1,c2`, `context="${context}",suid`, `context="${context}:c1,suid"`]],
  [ext4, ['context=', 'context="', 'context="a:b:c:s0\n"', `fscontext="${context}"`]],
  [xfs, ['logdev=/dev/vda', 'data=ordered']],
  [btrfs, ['subvol=/other', 'device=/dev/vda']],
] as const;

for (const [filesystem, flags] of allowed)
  test(`${filesystem.name} takes ${flags.join(' ')}`, () => requireFlags(flags, filesystem));

test('all mount flags that are not allowed are told at once', () => {
  const message = 'mount flag "suid", "dev" is not allowed for xfs';
  assert.throws(() => requireFlags(['suid', 'noatime', 'dev'], xfs), { message });
});

for (const [filesystem, flags] of refused)
  for (const flag of flags)
    test(`${filesystem.name} refuses the mount flag ${JSON.stringify(flag)} and names it`, () => {
      assert.throws(() => requireFlags(['noatime', flag], filesystem), {
        code: 'INVALID_ARGUMENT',
        message: `mount flag "${flag}" is not allowed for ${filesystem.name}`,
      });
    });
