import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttachmentOf } from '../../../../src/api/attachment.ts';
import { device } from '../../../../node-agent/connectors/device.ts';
import { openWorld } from '../../../fakes/disks.ts';
import { mountFake } from '../../../fakes/sysfs.ts';
import { testConnectorFaults } from '../../../suites/connector.ts';
import { common, MiB, show } from './worlds.ts';

type Names = { readonly serial?: string; readonly wwid?: string };

function attachmentTo(names: Names, sizeBytes = MiB): AttachmentOf<'device'> {
  return { protocol: 'device', ...names, ...common, sizeBytes };
}

testConnectorFaults({
  name: 'device',
  connector: device,
  open() {
    const { host } = openWorld();
    show(host, 'vdb', { serial: 'vol1' });
    const left = () => (host.get('/sys/block/vdb/ro') === '0' ? [] : ['a read-only disk']);
    return { host, attach: () => ({ ...attachmentTo({ serial: 'vol1' }), readonly: true }), left };
  },
});

const kinds: readonly (readonly [kind: string, facts: Record<string, string>, names: Names])[] = [
  ['virtio', { serial: 'vol1' }, { serial: 'vol1' }],
  ['SCSI', { 'device/vpd_pg80': '\0\u0080\0\u0004vol1' }, { serial: 'vol1' }],
  ['NVMe', { 'device/serial': 'vol1                ' }, { serial: 'vol1' }],
  ['SCSI', { 'device/wwid': 'naa.1' }, { wwid: 'naa.1' }],
  [
    'SCSI',
    { 'device/wwid': 't10.ATA     QEMU HARDDISK   vol1 ' },
    { wwid: 't10.ATA     QEMU HARDDISK   vol1' },
  ],
  ['NVMe', { wwid: 'eui.1' }, { wwid: 'eui.1' }],
];

for (const [kind, facts, names] of kinds)
  test(`a ${kind} disk is found by its ${Object.keys(facts).join()}`, async () => {
    const { host } = openWorld();
    show(host, 'sda', { dev: '8:0', ...facts });
    const { path, number } = await device.connect(attachmentTo(names), host);
    assert.deepEqual([path, number], ['/dev/sda', '8:0']);
    assert.equal(await device.owns(attachmentTo(names), '8:0', host), true);
    const longer = Object.fromEntries(Object.entries(names).map(([key, value]) => [key, `${value}0`]));
    assert.equal(await device.owns(attachmentTo(longer), '8:0', host), false);
    const both = { serial: 'vol1', wwid: 'naa.other' };
    assert.equal(await device.owns(attachmentTo(both), '8:0', host), false);
    host.put('/sys/block/sda/partition', '1');
    assert.equal(await device.owns(attachmentTo(names), '8:0', host), false);
  });

test('two disks with the same identifier are refused, and a path of an NVMe disk is not a disk', async () => {
  const { host } = openWorld();
  show(host, 'nvme0n1', { 'device/serial': 'v', nsid: '1' });
  show(host, 'nvme0c0n1', { 'device/serial': 'v', hidden: '1' });
  assert.equal((await device.connect(attachmentTo({ serial: 'v' }), host)).path, '/dev/nvme0n1');
  show(host, 'nvme1n1', { 'device/serial': 'v', nsid: '1' });
  await assert.rejects(device.connect(attachmentTo({ serial: 'v' }), host), {
    code: 'FAILED_PRECONDITION',
    detail: 'more than one disk reports "serial v": nvme0n1, nvme1n1; unplug those that are not the volume',
  });
});

test('an NVMe serial belongs to the controller, and names its first disk only if there is no other', async () => {
  const { host } = openWorld();
  const facts = { 'device/serial': 'v', ro: '1' };
  const showNamespace = (nsid: string): void =>
    show(host, `nvme0n${nsid}`, { ...facts, nsid, wwid: `eui.${nsid}`, dev: `259:${nsid}` });
  const bySerial = attachmentTo({ serial: 'v' });
  const assertRefused = async (): Promise<void> => {
    await assert.rejects(device.connect(bySerial, host), {
      code: 'FAILED_PRECONDITION',
      detail: /NVMe controller with several disks.*give the attachment a wwid/,
    });
    await device.disconnect(bySerial, host);
    assert.deepEqual(host.lines, []);
  };
  showNamespace('2');
  await assertRefused();
  assert.equal(await device.owns(bySerial, '259:2', host), false);
  showNamespace('1');
  await assertRefused();
  const named = attachmentTo({ serial: 'v', wwid: 'eui.2' });
  assert.equal((await device.connect(named, host)).path, '/dev/nvme0n2');
  assert.equal(await device.owns(named, '259:2', host), true);
  host.drop('/sys/block/nvme0n2');
  assert.equal((await device.connect(bySerial, host)).path, '/dev/nvme0n1');
  assert.equal(await device.owns(bySerial, '259:1', host), true);
});

test('disconnect changes neither a disk that a twin has joined nor the twin', async () => {
  const { host } = openWorld();
  for (const name of ['vdb', 'vdc']) show(host, name, { serial: 'v', ro: '1' });
  await device.disconnect({ ...attachmentTo({ serial: 'v' }), readonly: true }, host);
  assert.deepEqual([host.get('/sys/block/vdb/ro'), host.get('/sys/block/vdc/ro')], ['1', '1']);
});

test('a disk is read-only as long as its volume is, and one in use is not disconnected', async () => {
  const { host } = openWorld();
  show(host, 'vdb', { serial: 'v' });
  const closed = { ...attachmentTo({ serial: 'v' }), readonly: true };
  const { path, readonly } = await device.connect(closed, host);
  assert.equal(readonly, true);
  const release = mountFake(host, path);
  await assert.rejects(device.disconnect(closed, host), {
    code: 'UNAVAILABLE',
    detail: /in use by the mount/,
  });
  release();
  await device.disconnect(closed, host);
  const lines = host.lines.filter(line => line.startsWith('blockdev'));
  assert.deepEqual(lines, [
    'blockdev --setro /dev/vdb',
    'blockdev --flushbufs /dev/vdb',
    'blockdev --setrw /dev/vdb',
  ]);
});

test('a disk that has grown is read again, and one that is too small is refused', async () => {
  const { host } = openWorld();
  show(host, 'sda', { 'device/vpd_pg80': '....v', 'device/rescan': '' });
  host.writes.set(/\/sda\/device\/rescan$/, () => host.put('/sys/block/sda/size', (2 * MiB) / 512));
  const grown = attachmentTo({ serial: 'v' }, 2 * MiB);
  assert.equal((await device.connect(grown, host)).sizeBytes, 2 * MiB);
  await assert.rejects(device.connect({ ...grown, sizeBytes: 3 * MiB }, host), {
    code: 'FAILED_PRECONDITION',
    detail: /has 2097152 bytes, less than the volume's 3145728/,
  });
});

test('a missing disk, or one without the searched identifiers, is an error', async () => {
  const { host } = openWorld();
  await assert.rejects(device.connect(attachmentTo({ serial: 'no such disk' }), host), {
    code: 'UNAVAILABLE',
  });
  await assert.rejects(device.connect(attachmentTo({}), host), { code: 'INVALID_ARGUMENT' });
});

test('a SCSI disk in use is cut off by setting it offline, and is online once it is connected anew', async () => {
  const { host } = openWorld();
  const state = '/sys/block/sda/device/state';
  show(host, 'sda', { dev: '8:0', 'device/wwid': 'naa.1', 'device/state': 'running' });
  host.writes.set(/\/device\/state$/, (_, text) => {
    if (text.endsWith('\n')) host.put(state, text.trim());
  });
  const attachment = attachmentTo({ wwid: 'naa.1' });
  const { path } = await device.connect(attachment, host);
  const release = mountFake(host, path);
  for (let i = 0; i < 2; i++) await device.cutOff(attachment, host);
  assert.equal(host.get(state), 'offline');
  release();
  await device.disconnect(attachment, host);
  await device.connect(attachment, host);
  assert.equal(host.get(state), 'running');
});

for (const [name, facts] of [
  ['vdb', { serial: 'vol1' }],
  ['nvme0n1', { 'device/serial': 'vol1', 'device/state': 'live', nsid: '1' }],
] as const)
  test(`the disk ${name}, which cannot be cut off while in use, stays as it is`, async () => {
    const { host } = openWorld();
    show(host, name, facts);
    const attachment = attachmentTo({ serial: 'vol1' });
    await device.connect(attachment, host);
    await assert.rejects(device.cutOff(attachment, host), {
      code: 'FAILED_PRECONDITION',
      detail: new RegExp(`^disk "/dev/${name}" cannot be cut off`),
    });
  });
