import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage, unstage, type StageRequest } from '../../../../node-agent/volumes/stage.ts';
import type { Attachment } from '../../../../src/api/attachment.ts';
import { openIscsiWorld } from '../../../fakes/disks.ts';
import { addDirectory } from '../../../fakes/state.ts';
import { showDisk } from '../../../fakes/show-disk.ts';
import { mountFake } from '../../../fakes/sysfs.ts';
import { block, MiB, openFakeBench, startAgent } from '../../../harness/node-agent-bench.ts';

const target = 'iqn.2026-01.test:one';
const [wwid, serial] = ['naa.6001405one', 'SER1'];
const common = { attachmentId: 'a', sizeBytes: MiB, readonly: false, mayFormat: true };
const overIscsi = { ...common, protocol: 'iscsi', portals: ['192.0.2.1:3260'], target, lun: 1 } as const;
const plugged = { ...common, protocol: 'device' } as const;
const names: readonly Attachment[] = [
  { ...overIscsi, wwid },
  { ...overIscsi, serial },
  { ...plugged, wwid },
  { ...plugged, serial },
  { ...plugged, wwid, serial },
];

/** A machine with the disk, which is an iSCSI unit that is there once somebody has connected it. */
async function open() {
  const { host, volumes } = openIscsiWorld(target);
  volumes.set('1', { name: 'one', sizeBytes: MiB }).set('2', { name: 'two', sizeBytes: MiB });
  for (const name of ['stage', 'state']) addDirectory(host.state, `/bench/${name}`);
  const shown = host.put;
  // What the unit says of itself is there as soon as the unit is.
  host.put = (path, text) => {
    shown(path, text);
    if (path === '/sys/block/sda/device/wwid')
      shown('/sys/block/sda/device/vpd_pg80', `\0\x80\0\x04${serial}`);
  };
  const restart = () => startAgent({ ...openFakeBench(), host });
  return { host, agent: await restart(), restart };
}

function requestFor(name: string, attachment: Attachment): StageRequest {
  return {
    volumeId: `c.${name}`,
    stagingPath: `/bench/stage/${name}`,
    attachment,
    capability: block,
  };
}

/** Two volumes that are one disk. */
const both = [
  requestFor('holder', { ...overIscsi, wwid }),
  requestFor('other', { ...overIscsi, serial }),
] as const;

const refused = {
  code: 'FAILED_PRECONDITION',
  detail: 'the device of volume "c.other" is the one of volume "c.holder", which is staged here',
};

for (const [index, second] of names.entries().filter(([at]) => at > 0))
  for (const isRestarted of [false, true])
    test(`a disk by its wwid over iscsi is refused ${isRestarted ? 'after a restart ' : ''}to another volume by ${second.protocol} ${index}`, async () => {
      const { host, agent, restart } = await open();
      const [holder, other] = [requestFor('holder', { ...overIscsi, wwid }), requestFor('other', second)];
      await stage(agent, holder);
      const now = isRestarted ? await restart() : agent;
      for (let tries = 0; tries < 2; tries++) await assert.rejects(stage(now, other), refused);
      assert.ok(host.get('/sys/block/sda/dev'));
      await stage(now, holder);
      await unstage(now, other);
      assert.ok(host.get('/sys/block/sda/dev'));
      await unstage(now, holder);
      assert.deepEqual(host.names('/sys/class/iscsi_session'), []);
      assert.deepEqual(now.records.all(), []);
    });

test('a disk is free for the other volume once the first was unstaged', async () => {
  const { agent } = await open();
  const [holder, other] = both;
  await stage(agent, holder);
  await unstage(agent, holder);
  await stage(agent, other);
  await assert.rejects(stage(agent, holder), { code: 'FAILED_PRECONDITION' });
  await unstage(agent, other);
});

test('of two volumes that are staged at a time on one disk, never both are, and one is in the end', async () => {
  const { agent } = await open();
  const outcomes = await Promise.allSettled(both.map(request => stage(agent, request)));
  assert.ok(outcomes.some(({ status }) => status === 'rejected'));
  const retried: PromiseSettledResult<void>[] = [];
  for (const request of both) retried.push(...(await Promise.allSettled([stage(agent, request)])));
  assert.equal(retried.filter(({ status }) => status === 'fulfilled').length, 1);
});

test('of two volumes of one target that are unstaged at a time, the last one logs out', async () => {
  const { host, agent } = await open();
  const second = { ...overIscsi, lun: 2, wwid: 'naa.6001405two' };
  const leavers = [requestFor('one', { ...overIscsi, wwid }), requestFor('two', second)];
  for (const request of leavers) await stage(agent, request);
  const { promise: disconnected, resolve } = Promise.withResolvers<void>();
  let count = 0;
  const remove = async (volumeId: string): Promise<void> => {
    if (++count === leavers.length) resolve();
    await disconnected;
    await agent.records.remove(volumeId);
  };
  const leaving = { ...agent, records: { ...agent.records, remove } };
  await Promise.all(leavers.map(request => unstage(leaving, request)));
  assert.deepEqual(host.names('/sys/class/iscsi_session'), []);
});

test('a disk that took the number of a missing one is not taken for it', async () => {
  const { host, agent } = await open();
  showDisk(host, { name: 'sdb', sizeBytes: MiB }, { dev: '8:99', 'device/wwid': 'naa.gone' });
  await stage(agent, requestFor('gone', { ...plugged, wwid: 'naa.gone' }));
  host.drop('/sys/block/sdb');
  const facts = { dev: '8:99', 'device/wwid': 'naa.new', 'device/serial': 'NEW' };
  showDisk(host, { name: 'sdb', sizeBytes: MiB }, facts);
  await stage(agent, requestFor('new', { ...plugged, serial: 'NEW' }));
  assert.equal(agent.records.get('c.new')?.device?.number, '8:99');
});

const users: Readonly<Record<string, (host: Awaited<ReturnType<typeof open>>['host']) => void>> = {
  'is mounted elsewhere': host => void mountFake(host, '/dev/sda'),
  'is swap': host => host.put('/proc/swaps', 'Filename Type\n/dev/sda   partition\n'),
  'is part of another device': host => host.put('/sys/block/sda/holders/dm-0/dev', '253:0'),
};

for (const [use, begin] of Object.entries(users))
  for (const readonly of [false, true])
    test(`a disk of this machine that ${use} is left as it is, and no ${readonly ? 'read-only ' : ''}volume`, async () => {
      const { host, agent } = await open();
      showDisk(host, { name: 'sda', sizeBytes: MiB }, { 'device/wwid': wwid });
      begin(host);
      const request = requestFor('v', { ...plugged, wwid, readonly });
      await assert.rejects(stage(agent, request), { code: 'FAILED_PRECONDITION', detail: /is in use by/ });
      assert.equal(host.get('/sys/block/sda/ro'), '0');
      assert.equal(agent.records.get('c.v'), undefined);
      await unstage(agent, request);
    });
