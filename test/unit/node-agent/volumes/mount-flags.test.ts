import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  commonOptions,
  optionsByKind,
  partMountOptions,
  requireMountOptions,
} from '../../../../src/api/filesystems/mount-options.ts';
import type { Problem } from '../../../../src/api/problem.ts';

const context = 'system_u:object_r:container_file_t:s0';

const allowed = [
  ['ext4', ['noatime', 'ro', 'discard', 'commit=30', 'data=ordered', 'barrier=0', 'barrier']],
  ['ext4', [`context="${context}:c10,c1023"`]],
  ['xfs', ['nosuid', 'logbsize=256k', 'allocsize=64m', 'nouuid', `context=${context}`]],
  ['btrfs', ['compress=zstd:3', 'discard=async', 'discard', 'ssd', `context="${context}-s0:c0.c1023"`]],
  ['nfs', ['hard', 'nfsvers=4', 'vers=4.2', 'tcp', 'timeo=600', 'sec=krb5p', 'nosharecache', 'fsc']],
  ['cephfs', ['rasize=65536', 'noatime']],
  ['bind', ['ro', 'nosuid']],
] as const;

const refused = [
  [
    'ext4',
    ['noatime,suid', 'noatime\nsuid', 'noatime=1', '', ' noatime', '--bind', 'bind', 'remount', 'suid'],
  ],
  ['ext4', ['commit=30,data=writeback', 'commit=', 'data=anything', 'errors=panic']],
  ['ext4', ['journal_path=/dev/vda', 'constructor']],
  ['ext4', [`context=${context}:c1,c2`, `context="${context}",suid`, `context="${context}:c1,suid"`]],
  ['ext4', ['context=', 'context="', 'context="a:b:c:s0\n"', `fscontext="${context}"`]],
  // Options that skip the journal hide durable data.
  ['ext4', ['noload', 'norecovery']],
  ['xfs', ['norecovery']],
  ['btrfs', ['norecovery', 'nologreplay', 'rescue=nologreplay', 'rescue=all']],
  ['xfs', ['logdev=/dev/vda', 'data=ordered', 'logbsize=12345', 'logbufs=9']],
  ['btrfs', ['subvol=/other', 'device=/dev/vda']],
  // Options that skip the journal hide durable data.
  ['ext4', ['noload', 'norecovery']],
  ['xfs', ['norecovery']],
  ['btrfs', ['nologreplay', 'norecovery', 'rescue=nologreplay', 'recovery', 'usebackuproot']],
  [
    'nfs',
    ['nfsvers=3', 'vers=3', 'nfsvers=4.1,suid', 'udp', 'proto=udp', 'retry=1,suid', 'local_lock=all,x'],
  ],
  ['nfs', ['_netdev=1', 'rw=1', 'nolock=', 'defaults,suid', 'addr=192.0.2.1', 'port=1,suid']],
  ['cephfs', ['secret=x', 'name=admin', 'nfsvers=4']],
  ['bind', ['sync', 'lazytime', 'rbind', 'context=a:b:c:s0']],
] as const;

/** Options of other drivers' classes and examples: `mount` gets some of them, and the others have no effect. */
const parted = [
  ['nfs', ['nfsvers=4.1', 'tcp', 'hard'], ['vers=4.1', 'proto=tcp', 'hard'], []],
  ['nfs', ['rdma', 'nordirplus', 'fsc'], ['proto=rdma', 'nordirplus', 'fsc'], []],
  ['nfs', [], [], ['nolock', '_netdev', 'noacl', 'retry=5', 'bg', 'intr', 'rw', 'local_lock=none']],
  [
    'ext4',
    ['noatime', 'discard'],
    ['noatime', 'discard'],
    ['defaults', 'rw', 'nofail', 'acl', 'user_xattr', 'async'],
  ],
  [
    'xfs',
    ['inode64', 'nouuid'],
    ['inode64', 'nouuid'],
    ['defaults', 'rw', 'nofail', 'attr2', 'nobarrier', '_netdev'],
  ],
  ['btrfs', ['ssd'], ['ssd'], ['defaults', 'rw', 'nofail', 'acl', 'async']],
  ['cephfs', ['noatime'], ['noatime'], ['_netdev', 'rw', 'nofail']],
  ['bind', ['ro'], ['ro'], ['defaults', 'nofail', '_netdev']],
] as const;
for (const [kind, given, used, unused] of parted)
  test(`${kind} is mounted with ${used.join(',')} if ${[...given, ...unused].join(',')} is requested`, () => {
    requireMountOptions([...unused, ...given], kind);
    assert.deepEqual(partMountOptions(kind, [...unused, ...given]), { used, unused });
  });

for (const [filesystem, flags] of allowed)
  test(`${filesystem} accepts ${flags.join(' ')}`, () => requireMountOptions(flags, filesystem));

test('the error names all forbidden mount flags at once', () => {
  const message = 'mount flag "suid", "dev" is not allowed for xfs';
  assert.throws(() => requireMountOptions(['suid', 'noatime', 'dev'], 'xfs'), { message });
});

test('without a given filesystem, the error names the filesystems that refuse each mount flag', () => {
  const message =
    'mount flag "logbsize=256k" is not allowed for ext4, btrfs; "compress=zstd" is not allowed for ext4, xfs; ' +
    '"suid", "dev" is not allowed for ext4, xfs, btrfs';
  const flags = ['logbsize=256k', 'noatime', 'compress=zstd', 'suid', 'dev'];
  assert.throws(() => requireMountOptions(flags, 'ext4', 'xfs', 'btrfs'), { message });
});

const inOneLine = (text: string): string => text.replaceAll('\n', ' ');

for (const [filesystem, flags] of refused)
  for (const flag of flags)
    test(`${filesystem} refuses the mount flag ${JSON.stringify(flag)} and names it`, () => {
      assert.throws(
        () => requireMountOptions(['noatime', flag], filesystem),
        ({ code, message }: Problem) =>
          code === 'INVALID_ARGUMENT' &&
          inOneLine(message) === `mount flag "${inOneLine(flag)}" is not allowed for ${filesystem}`,
      );
    });

test('the page on nodes names every mount option', () => {
  const page = readFileSync('docs/nodes.md', 'utf8');
  for (const table of [commonOptions, ...Object.values(optionsByKind)])
    for (const name of Object.keys(table)) assert.ok(page.includes(`\`${name}\``), name);
});
