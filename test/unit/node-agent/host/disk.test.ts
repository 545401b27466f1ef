import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findUser, settleDisk } from '../../../../node-agent/host/disk-use.ts';
import { isDisk, requireIdentity } from '../../../../node-agent/host/disk.ts';
import { openWorld } from '../../../fakes/disks.ts';
import { showDisk } from '../../../fakes/show-disk.ts';
import { mountFake } from '../../../fakes/sysfs.ts';

const vdb = '/sys/block/vdb';
const disk = { name: 'vdb', number: '254:16' };

/** Opens a machine that shows the disk with these identifiers. */
function openDisk(facts: Readonly<Record<string, string>> = {}) {
  const { host } = openWorld();
  const show = (name: string, more: Readonly<Record<string, string>>): void =>
    showDisk(host, { name, sizeBytes: 2 ** 20 }, more);
  show('vdb', { dev: '254:16', ...facts });
  return { host, show };
}

test('a disk is in use if one of its partitions is mounted or is below another device', async () => {
  const { host, show } = openDisk();
  assert.equal(await findUser(disk, host), undefined);
  host.put(`${vdb}/vdb1/dev`, '254:17');
  host.put(`${vdb}/vdb1/partition`, '1');
  assert.equal(await findUser(disk, host), undefined);
  show('vdc', { dev: '254:17' });
  const release = mountFake(host, '/dev/vdc');
  assert.equal(await findUser(disk, host), 'the mount at "/mnt"');
  release();
  host.put(`${vdb}/vdb1/holders/dm-0/dev`, '253:0');
  assert.equal(await findUser(disk, host), 'device "/dev/dm-0"');
});

test('a disk is in use while a filesystem on it or on a partition exists, wherever it is mounted', async () => {
  const { host } = openDisk();
  host.put(`${vdb}/vdb1/dev`, '254:17');
  for (const [file, type] of [
    ['/sys/fs/ext4/vdb', 'ext4'],
    ['/sys/fs/xfs/vdb1', 'xfs'],
    ['/sys/fs/btrfs/9c26/devices/vdb1', 'btrfs'],
  ] as const) {
    host.put(`${file}/x`, '');
    assert.equal(
      await findUser(disk, host),
      `${type}, mounted where the agent does not see it, or frozen when it was unmounted`,
    );
    await assert.rejects(settleDisk(disk, host), { code: 'UNAVAILABLE' });
    host.drop(file);
  }
  for (const other of ['ext4/vdb10', 'ext4/vd', 'ext4/features', 'btrfs/9c26/devices/vdc'])
    host.put(`/sys/fs/${other}/x`, '');
  assert.equal(await findUser(disk, host), undefined);
  assert.deepEqual(host.lines, []);
});

test('the kernel writes its cached data of a disk and its partitions before the disk is removed', async () => {
  const { host } = openDisk();
  host.put(`${vdb}/vdb1/dev`, '254:17');
  await settleDisk(disk, host);
  assert.deepEqual(host.lines, ['blockdev --flushbufs /dev/vdb /dev/vdb1']);
  const detail = '"blockdev --flushbufs /dev/vdb /dev/vdb1" ended with status 1: no';
  host.tools.set('blockdev', () => ({ status: 1, stderr: 'no' }));
  await assert.rejects(settleDisk(disk, host), { code: 'UNAVAILABLE', detail });
  host.tools.set('blockdev', () => ({ status: undefined, timedOut: true }));
  await assert.rejects(settleDisk(disk, host), { code: 'DEADLINE_EXCEEDED' });
});

test('nothing is written to a disk that is gone or offline', async () => {
  const { host, show } = openDisk({ dev: '254:99' });
  host.tools.set('blockdev', () => 1);
  await settleDisk(disk, host);
  host.drop(vdb);
  await settleDisk(disk, host);
  show('vdb', { dev: '254:16' });
  const states = { running: 1, blocked: 1, offline: 0, 'transport-offline': 0 };
  for (const [state, flushes] of Object.entries(states)) {
    host.put(`${vdb}/device/state`, state);
    host.lines.length = 0;
    await settleDisk(disk, host).catch(() => {});
    assert.equal(host.lines.length, flushes, state);
  }
});

test('a blank identity matches no disk, not even one without identifiers', async () => {
  const { host } = openDisk({ serial: '', 'device/wwid': '' });
  const blanks = [
    { serial: ' ' },
    { wwid: ' ' },
    { serial: '\t', wwid: 'naa.1' },
    { serial: undefined, wwid: undefined },
  ];
  for (const blank of blanks) {
    assert.equal(await isDisk(vdb, blank, host), false);
    assert.throws(() => requireIdentity(blank), { code: 'INVALID_ARGUMENT' });
  }
  requireIdentity({ serial: 'v' });
});

test('the serial number of a virtio disk, which the disk itself answers, is read by a command, once', async () => {
  const { host } = openDisk({ serial: 'v', diskseq: 'once' });
  const readText: typeof host.readText = async path => {
    assert.notEqual(path, `${vdb}/serial`, 'read by the agent itself');
    return host.readText(path);
  };
  const own = { ...host, readText };
  for (const _ of [1, 2]) assert.equal(await isDisk(vdb, { serial: 'v' }, own), true);
  assert.deepEqual(host.lines, [`cat -- ${vdb}/serial`]);
  host.put(`${vdb}/diskseq`, 'another');
  host.put(`${vdb}/serial`, 'w');
  assert.equal(await isDisk(vdb, { serial: 'v' }, own), false);
});

test('a virtio disk that does not answer ends the search at its deadline, with only one command waiting', async () => {
  const { host } = openDisk({ serial: 'v' });
  const { promise: gone, resolve: go } = Promise.withResolvers<void>();
  host.tools.set('cat', () => ({ status: undefined, timedOut: true, gone }));
  for (const _ of ['the first', 'another'])
    await assert.rejects(isDisk(vdb, { serial: 'v' }, host), { code: 'DEADLINE_EXCEEDED' });
  assert.equal(host.lines.length, 1);
  go();
  await gone;
  host.tools.set('cat', () => 1);
  assert.equal(await isDisk(vdb, { serial: 'v' }, host), false);
});
