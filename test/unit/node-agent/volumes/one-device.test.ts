import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage, type StageRequest } from '../../../../node-agent/volumes/stage.ts';
import type { Attachment } from '../../../../src/api/attachment.ts';
import { openIscsiWorld } from '../../../fakes/disks.ts';
import { addDirectory } from '../../../fakes/state.ts';
import { showDisk } from '../../../fakes/show-disk.ts';
import { mountFake } from '../../../fakes/sysfs.ts';
import { block, MiB, openFakeBench, startAgent } from '../../../harness/node.ts';

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

/** Opens a machine with the disk, an iSCSI unit that appears once it is connected. */
async function open() {
  const { host, volumes } = openIscsiWorld(target);
  volumes.set('1', { name: 'one', sizeBytes: MiB }).set('2', { name: 'two', sizeBytes: MiB });
  for (const name of ['stage', 'state']) addDirectory(host.state, `/bench/${name}`);
  const shown = host.put;
  // The unit's identifiers appear together with the unit.
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

/** Pairs of volumes on one disk. */
const both = [
  requestFor('holder', { ...overIscsi, wwid }),
  requestFor('other', { ...overIscsi, serial }),
] as const;

const refused = {
  code: 'FAILED_PRECONDITION',
  detail:
    'the device of volume "c.other" is also that of volume "c.holder", which is staged on this node; unstage that one first, or correct the attachment',
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
      assert.deepEqual(await host.list(other.stagingPath), []);
      await stage(now, holder);
      await unstage(now, other);
      assert.ok(host.get('/sys/block/sda/dev'));
      await unstage(now, holder);
      assert.deepEqual(host.names('/sys/class/iscsi_session'), []);
      assert.deepEqual(now.records.all(), []);
    });

test('unstage with the copy of a lost record leaves the disk to the volume that has it by now', async () => {
  const { host, agent } = await open();
  const [lost, holder] = both;
  await stage(agent, lost);
  await agent.records.remove(lost.volumeId);
  await stage(agent, holder);
  await unstage(agent, lost);
  assert.ok(host.get('/sys/block/sda/dev'));
  await unstage(agent, holder);
  assert.deepEqual(host.names('/sys/class/iscsi_session'), []);
});

test('unstage without a record removes a damaged copy and a draft', async () => {
  const { host, agent } = await open();
  const [request] = both;
  await stage(agent, request);
  await agent.records.remove(request.volumeId);
  const [copy = ''] = await host.list(request.stagingPath);
  await host.writeDurably(`${request.stagingPath}/${copy}`, 'damaged');
  await host.writeDurably(`${request.stagingPath}/${copy}.tmp`, 'a draft');
  await unstage(agent, request);
  assert.deepEqual(await host.list(request.stagingPath), []);
});

test('a disk is free for another volume once the first one was unstaged', async () => {
  const { agent } = await open();
  const [holder, other] = both;
  await stage(agent, holder);
  await unstage(agent, holder);
  await stage(agent, other);
  await assert.rejects(stage(agent, holder), { code: 'FAILED_PRECONDITION' });
  await unstage(agent, other);
});

test('two volumes on one disk that are staged at the same time are never both staged, and one is in the end', async () => {
  const { agent } = await open();
  const outcomes = await Promise.allSettled(both.map(request => stage(agent, request)));
  assert.ok(outcomes.some(({ status }) => status === 'rejected'));
  const retried: PromiseSettledResult<void>[] = [];
  for (const request of both) retried.push(...(await Promise.allSettled([stage(agent, request)])));
  assert.equal(retried.filter(({ status }) => status === 'fulfilled').length, 1);
});

test('when two volumes of one target are unstaged at the same time, the last one logs out', async () => {
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

test('a disk with the number of a missing one is not mistaken for it', async () => {
  const { host, agent } = await open();
  showDisk(host, { name: 'sdb', sizeBytes: MiB }, { dev: '8:99', 'device/wwid': 'naa.gone' });
  await stage(agent, requestFor('gone', { ...plugged, wwid: 'naa.gone' }));
  host.drop('/sys/block/sdb');
  const facts = { dev: '8:99', 'device/wwid': 'naa.new', 'device/serial': 'NEW' };
  showDisk(host, { name: 'sdb', sizeBytes: MiB }, facts);
  await stage(agent, requestFor('new', { ...plugged, serial: 'NEW' }));
  assert.equal(agent.records.get('c.new')?.device?.number, '8:99');
});

const inUse = { code: 'FAILED_PRECONDITION', detail: /is in use by/ };

const users: Readonly<Record<string, (host: Awaited<ReturnType<typeof open>>['host']) => void>> = {
  'is mounted elsewhere': host => void mountFake(host, '/dev/sda'),
  'is swap': host => host.put('/proc/swaps', 'Filename Type\n/dev/sda   partition\n'),
  'is part of another device': host => host.put('/sys/block/sda/holders/dm-0/dev', '253:0'),
};

for (const [use, begin] of Object.entries(users))
  for (const readonly of [false, true])
    test(`a disk of this machine that ${use} is left alone, and is no ${readonly ? 'read-only ' : ''}volume`, async () => {
      const { host, agent, restart } = await open();
      showDisk(host, { name: 'sda', sizeBytes: MiB }, { 'device/wwid': wwid });
      begin(host);
      const request = requestFor('v', { ...plugged, wwid, readonly });
      for (const one of [agent, agent, await restart()]) await assert.rejects(stage(one, request), inUse);
      assert.equal(host.get('/sys/block/sda/ro'), '0');
      assert.equal(agent.records.get('c.v'), undefined);
      await unstage(agent, request);
    });

for (const [use, begin] of Object.entries(users))
  test(`a unit of an iSCSI target that this machine has connected and that ${use} is left alone`, async () => {
    const { host, agent, restart } = await open();
    const other = requestFor('machine', { ...overIscsi, wwid });
    await stage(agent, other);
    await agent.records.remove(other.volumeId);
    begin(host);
    const request = requestFor('v', { ...overIscsi, wwid });
    for (const one of [agent, agent, await restart()]) {
      await assert.rejects(stage(one, request), inUse);
      assert.deepEqual([one.records.all(), await host.list(request.stagingPath)], [[], []]);
    }
    await unstage(agent, request);
    assert.ok(host.get('/sys/block/sda/dev'));
  });

for (const [use, begin] of Object.entries(users))
  for (const isRestarted of [false, true])
    test(`a disk that appears after a first attempt and ${use} is refused${isRestarted ? ' after a restart' : ''}`, async () => {
      const { host, agent, restart } = await open();
      const request = requestFor('v', { ...plugged, wwid });
      await assert.rejects(stage(agent, request), { code: 'UNAVAILABLE', detail: /no disk of this node/ });
      showDisk(host, { name: 'sda', sizeBytes: MiB }, { 'device/wwid': wwid });
      begin(host);
      const now = isRestarted ? await restart() : agent;
      await assert.rejects(publish(now, { ...request, targetPath: '/bench/pods/v', readonly: false }), {
        code: 'FAILED_PRECONDITION',
        detail: /is not staged at/,
      });
      for (let tries = 0; tries < 2; tries++) await assert.rejects(stage(now, request), inUse);
      assert.deepEqual(now.records.all(), []);
    });

test('a disk whose mkfs was interrupted keeps its mark when a later stage is refused', async () => {
  const { host, agent } = await open();
  showDisk(host, { name: 'sda', sizeBytes: MiB }, { 'device/wwid': wwid });
  const attachment = { ...plugged, wwid };
  const request = requestFor('v', attachment);
  const formatting = { attachmentId: 'a', identity: wwid, sizeBytes: MiB };
  await agent.records.put({ ...request, attachment, targets: [], formatting, isUnfinished: true });
  const large = { ...request, attachment: { ...attachment, sizeBytes: 2 * MiB } };
  await assert.rejects(stage(agent, large), {
    code: 'FAILED_PRECONDITION',
    detail: /less than the volume's/,
  });
  const { isDown, formatting: left } = agent.records.get('c.v') ?? {};
  assert.deepEqual({ isDown, left }, { isDown: true, left: formatting });
});

test('a volume that is refused after a temporary failure leaves nothing of either call', async () => {
  for (const capability of [block, { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' } as const]) {
    const { host, agent } = await open();
    const request = { ...requestFor('one', { ...overIscsi, wwid, lun: 3 }), capability };
    await assert.rejects(stage(agent, request), {
      code: 'UNAVAILABLE',
      detail: /shows no disk as unit 3 yet/,
    });
    assert.equal(host.names('/sys/class/iscsi_session').length, 1);
    const other = { ...request, attachment: { ...overIscsi, wwid, lun: 2 } };
    await assert.rejects(stage(agent, { ...request, ...other }), { code: 'FAILED_PRECONDITION' });
    assert.deepEqual(host.names('/sys/class/iscsi_session'), []);
    assert.deepEqual(host.names('/sys/block'), []);
    assert.deepEqual(agent.records.all(), []);
  }
});
