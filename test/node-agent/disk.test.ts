import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findUser, isDisk, refuseNameless } from '../../node-agent/disk.ts';
import { openWorld, showDisk } from '../fakes/disks.ts';
import { mountFake } from '../fakes/sysfs.ts';

const MiB = 2 ** 20;
const place = '/sys/block/vdb';

test('a disk is used when one of its partitions is mounted or lies below another device', async () => {
  const { host } = openWorld();
  showDisk(host, { name: 'vdb', sizeBytes: MiB }, { dev: '254:16' });
  const disk = { name: 'vdb', number: '254:16' };
  assert.equal(await findUser(disk, host), undefined);
  host.put(`${place}/vdb1/dev`, '254:17');
  host.put(`${place}/vdb1/partition`, '1');
  assert.equal(await findUser(disk, host), undefined);
  showDisk(host, { name: 'vdc', sizeBytes: MiB }, { dev: '254:17' });
  const release = mountFake(host, '/dev/vdc');
  assert.equal(await findUser(disk, host), 'the mount at "/mnt"');
  release();
  host.put(`${place}/vdb1/holders/dm-0/dev`, '253:0');
  assert.equal(await findUser(disk, host), 'device "/dev/dm-0"');
});

test('a blank identity is no disk, and never the one that says nothing of itself', async () => {
  const { host } = openWorld();
  showDisk(host, { name: 'vdb', sizeBytes: MiB }, { serial: '', 'device/wwid': '' });
  const blanks = [
    { serial: ' ' },
    { wwid: ' ' },
    { serial: '\t', wwid: 'naa.1' },
    { serial: undefined, wwid: undefined },
  ];
  for (const blank of blanks) {
    assert.equal(await isDisk(place, blank, host), false);
    assert.throws(() => refuseNameless(blank), { code: 'INVALID_ARGUMENT' });
  }
  refuseNameless({ serial: 'v' });
});

test('the serial number of a virtio disk, which the disk itself is asked for, is read by a command, and once', async () => {
  const { host } = openWorld();
  showDisk(host, { name: 'vdb', sizeBytes: MiB }, { serial: 'v', diskseq: 'once' });
  const readText: typeof host.readText = async path => {
    assert.notEqual(path, `${place}/serial`, 'read by the agent itself');
    return host.readText(path);
  };
  const own = { ...host, readText };
  for (const _ of [1, 2]) assert.equal(await isDisk(place, { serial: 'v' }, own), true);
  assert.deepEqual(host.lines, [`cat -- ${place}/serial`]);
  host.put(`${place}/diskseq`, 'another');
  host.put(`${place}/serial`, 'w');
  assert.equal(await isDisk(place, { serial: 'v' }, own), false);
});

test('a virtio disk that does not answer ends the search at its deadline, and has one command wait on it', async () => {
  const { host } = openWorld();
  showDisk(host, { name: 'vdb', sizeBytes: MiB }, { serial: 'v' });
  const { promise: gone, resolve: go } = Promise.withResolvers<void>();
  host.tools.set('cat', () => ({ status: undefined, timedOut: true, gone }));
  await assert.rejects(isDisk(place, { serial: 'v' }, host), { code: 'DEADLINE_EXCEEDED' });
  await assert.rejects(isDisk(place, { serial: 'v' }, host), { code: 'UNAVAILABLE' });
  assert.equal(host.lines.length, 1);
  go();
  await gone;
  host.tools.set('cat', () => 1);
  assert.equal(await isDisk(place, { serial: 'v' }, host), false);
});
