import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attachment } from '../../../../src/api/attachment.ts';
import { iscsi } from '../../../../node-agent/connectors/iscsi.ts';
import { testConnector, testConnectorFaults } from '../../../suites/connector.ts';
import { MiB, openIscsi, portals, show, target } from './worlds.ts';

const openOne = () => openIscsi(portals.slice(0, 1));

testConnector({ name: 'iscsi over one portal', connector: iscsi, open: openOne });
testConnector({ name: 'iscsi over two portals', connector: iscsi, open: () => openIscsi() });
testConnectorFaults({ name: 'iscsi', connector: iscsi, open: () => openIscsi() });

test('iscsi logs in to a portal, makes the kernel scan for one unit, and disconnects both', async () => {
  const { host, attach } = openOne();
  const attachment = attach('v');
  await iscsi.connect(attachment, host);
  await iscsi.disconnect(attachment, host);
  const record = `iscsiadm --mode node --targetname ${target} --portal 192.0.2.7:3260`;
  assert.deepEqual(
    host.lines.map(line => line.replace(/(--op update).*/, '$1 …')),
    [
      'modprobe --quiet -- iscsi_tcp',
      `${record} --op new`,
      `${record} --op update …`,
      `${record} --login`,
      'tee -- /sys/class/scsi_host/host1/scan',
      'blockdev --flushbufs /dev/sda',
      'tee -- /sys/block/sda/device/delete',
      'iscsiadm --mode session --sid 1 --logout',
      `${record} --op delete`,
    ],
  );
  const settings = host.lines.find(line => line.includes('update'));
  assert.match(settings ?? '', / --name node.session.scan --value manual /);
  assert.match(settings ?? '', / --name node.session.timeo.replacement_timeout --value 120 /);
});

test('iscsi logs in with the name that the attachment has, by an interface of open-iscsi', async () => {
  const { host, attach } = openOne();
  await iscsi.connect({ ...attach('v'), initiator: 'iqn.2003-01.org.example:n' }, host);
  const steps = host.lines.filter(line => line.startsWith('iscsiadm')).slice(0, 2);
  const [, name = ''] = /--interface (fairlead\.[0-9a-f]{16}) --op update/.exec(steps[0] ?? '') ?? [];
  assert.match(steps[0] ?? '', / --name iface\.initiatorname --value iqn\.2003-01\.org\.example:n$/);
  assert.match(steps[1] ?? '', new RegExp(`--mode node .*--op new --interface ${name}$`));
});

test('iscsi sets every disk in use offline to cut it off, and no request waits for a path', async () => {
  const { host, attach, use } = openIscsi();
  const attachment = attach('v');
  await use((await iscsi.connect(attachment, host)).path);
  host.lines.length = 0;
  await iscsi.cutOff(attachment, host);
  const name = host.get('/sys/block/dm-0/dm/name');
  assert.deepEqual(host.lines, [
    `multipathd disablequeueing map ${name}`,
    'tee -- /sys/block/sda/device/state',
    'tee -- /sys/block/sdb/device/state',
  ]);
  for (const disk of ['sda', 'sdb']) assert.equal(host.get(`/sys/block/${disk}/device/state`), 'offline');
});

test("iscsi tries again if another target's record disappeared while iscsiadm read them all", async () => {
  const { host, attach } = openOne();
  const attachment = attach('v');
  const iscsiadm = host.tools.get('iscsiadm');
  assert.ok(iscsiadm);
  const failed = new Set<string>();
  host.tools.set('iscsiadm', (args, input) => {
    const line = args.join(' ');
    if (line.startsWith('--mode session') || failed.has(line)) return iscsiadm(args, input);
    failed.add(line);
    return 6;
  });
  await iscsi.connect(attachment, host);
  await iscsi.disconnect(attachment, host);
  assert.equal(failed.size, 4);
  assert.deepEqual(host.names('/sys/class/iscsi_session'), []);
});

test('iscsi tries ten times before it reports that the records are unreadable', async () => {
  const { host, attach } = openOne();
  let runs = 0;
  host.tools.set('iscsiadm', () => {
    runs++;
    return 6;
  });
  await assert.rejects(iscsi.connect(attach('v'), host), { code: 'UNAVAILABLE' });
  assert.equal(runs, 10);
});

test('iscsi waits until a disk has its identifiers, and no longer', async () => {
  const { host, attach } = openOne();
  const attachment = attach('v');
  const [[pattern, scan] = []] = host.writes;
  assert.ok(pattern && scan);
  host.writes.set(pattern, (match, text) => {
    scan(match, text);
    host.drop('/sys/block/sda/device/wwid');
    setTimeout(() => host.put('/sys/block/sda/device/wwid', attachment.wwid ?? ''), 150);
  });
  assert.equal((await iscsi.connect(attachment, host)).path, '/dev/sda');
});

test('iscsi leaves no disk if its session is lost and restored during disconnect', async () => {
  const { host, attach } = openOne();
  const attachment = attach('v');
  await iscsi.connect(attachment, host);
  let reads = 0;
  const readText = async (path: string) =>
    path.endsWith('/session1/state') && ++reads <= 2 ? 'FAILED' : host.readText(path);
  await iscsi.disconnect(attachment, { ...host, readText });
  assert.deepEqual(host.names('/sys/block'), []);
  assert.deepEqual(host.names('/sys/class/iscsi_session'), []);
});

test('iscsi is disconnected once the disk of its lost session is gone', async () => {
  const { host, attach } = openOne();
  const attachment = attach('v');
  await iscsi.connect(attachment, host);
  host.put('/sys/class/iscsi_session/session1/state', 'FAILED');
  const iscsiadm = host.tools.get('iscsiadm');
  assert.ok(iscsiadm);
  host.tools.set('iscsiadm', (args, input) => {
    if (!args.includes('--logout')) return iscsiadm(args, input);
    host.drop('/sys/class/iscsi_session/session1');
    setTimeout(() => host.drop('/sys/block/sda'), 150);
    return 0;
  });
  await iscsi.disconnect(attachment, host);
  assert.deepEqual(host.names('/sys/block'), []);
});

test('iscsi keeps a session that another volume, or another unit of it, may need', async () => {
  const { host, attach, volumes } = openOne();
  const one = attach('one');
  const two: Attachment = attach('two');
  await iscsi.connect(one, host);
  await iscsi.disconnect(one, host, () => [two]);
  assert.equal(host.names('/sys/class/iscsi_session').length, 1);
  assert.deepEqual(host.names('/sys/block'), []);
  volumes.set('7', { name: 'foreign', sizeBytes: MiB });
  await host.run('tee', ['--', '/sys/class/scsi_host/host1/scan'], { input: '0 0 7' });
  await iscsi.disconnect(two, host);
  assert.equal(host.names('/sys/class/iscsi_session').length, 1);
  assert.deepEqual(host.names('/sys/block'), ['sda']);
});

test('iscsi leaves sessions with other targets and over other portals alone', async () => {
  const { host, attach } = openOne();
  const attachment = attach('v');
  const rows = [
    ['8', target, '192.0.2.9'],
    ['9', `${target}2`, '192.0.2.7'],
  ] as const;
  for (const [id, name, address] of rows) {
    host.put(`/sys/class/iscsi_session/session${id}/targetname`, name);
    host.put(`/sys/class/iscsi_session/session${id}/state`, 'LOGGED_IN');
    host.put(`/sys/class/iscsi_session/session${id}/device/../scsi_host/host${id}/state`, 'running');
    host.put(`/sys/class/iscsi_connection/connection${id}:0/persistent_address`, address);
    host.put(`/sys/class/iscsi_connection/connection${id}:0/persistent_port`, '3260');
  }
  await iscsi.connect(attachment, host);
  await iscsi.disconnect(attachment, host);
  assert.deepEqual(host.names('/sys/class/iscsi_session'), ['session8', 'session9']);
});

test('iscsi refuses a unit with another identifier, and a disk elsewhere with the same one', async () => {
  const { host, attach } = openOne();
  const attachment = attach('v');
  await assert.rejects(iscsi.connect({ ...attachment, wwid: 'naa.6001405a00' }, host), {
    code: 'FAILED_PRECONDITION',
    detail: /reports "naa.6001405a0" and not "naa.6001405a00"/,
  });
  show(host, 'sdx', { 'device/wwid': attachment.wwid ?? '' });
  await assert.rejects(iscsi.connect(attachment, host), {
    code: 'FAILED_PRECONDITION',
    detail: /"\/dev\/sdx"/,
  });
});

for (const addresses of [portals.slice(0, 1), portals]) {
  const over = `${addresses.length} portals`;
  test(`iscsi over ${over} refuses a unit that is another volume, and leaves no session, record or disk`, async () => {
    const { host, attach, left } = openIscsi(addresses);
    const attachment = attach('v');
    for (const change of [{ wwid: 'naa.600' }, { serial: 'other' }, { sizeBytes: 2 * MiB }]) {
      await assert.rejects(iscsi.connect({ ...attachment, ...change }, host), {
        code: 'FAILED_PRECONDITION',
      });
      assert.deepEqual(left(), [], JSON.stringify(change));
    }
    await iscsi.connect(attachment, host);
    await iscsi.disconnect(attachment, host);
    assert.deepEqual(left(), []);
  });

  test(`iscsi over ${over} keeps another volume's session and disk when it is refused`, async () => {
    const { host, attach, left } = openIscsi(addresses);
    const one = attach('one');
    const two = attach('two');
    await iscsi.connect(one, host);
    const before = left();
    await assert.rejects(iscsi.connect({ ...two, wwid: 'naa.600' }, host), { code: 'FAILED_PRECONDITION' });
    assert.deepEqual(left(), before);
    await iscsi.disconnect(one, host);
    assert.deepEqual(left(), []);
  });
}

test('iscsi leaves a disk that is not the volume and that is in use by then', async () => {
  const { host, attach, use } = openOne();
  const attachment = attach('v');
  const [[pattern, scan] = []] = host.writes;
  assert.ok(pattern && scan);
  host.writes.set(pattern, (match, text) => {
    scan(match, text);
    void use('/dev/sda');
  });
  await assert.rejects(iscsi.connect({ ...attachment, wwid: 'naa.600' }, host), {
    code: 'FAILED_PRECONDITION',
  });
  assert.deepEqual(host.names('/sys/block'), ['sda']);
  assert.equal(host.names('/sys/class/iscsi_session').length, 1);
});

const spellings = ['[2001:db8::7]:3260', '[2001:DB8:0:0::0007]:3260', '[2001:0db8:0:0:0:0:0:7]:3260'];
for (const first of spellings)
  test(`iscsi knows the portal that it logged in to as ${first} in every spelling`, async () => {
    for (const other of spellings) {
      const { host, attach, left } = openIscsi([first]);
      const attachment = attach('v');
      const device = await iscsi.connect(attachment, host);
      const respelled = { ...attachment, portals: [other] };
      assert.deepEqual(await iscsi.connect(respelled, host), device);
      assert.equal(host.names('/sys/class/iscsi_session').length, 1);
      const needed: Attachment = attach('w');
      await iscsi.disconnect(attachment, host, () => [{ ...needed, portals: [other] } as Attachment]);
      assert.equal(host.names('/sys/class/iscsi_session').length, 1, 'another volume needs it');
      await iscsi.disconnect(respelled, host);
      assert.deepEqual(left(), [], other);
    }
  });

test('iscsi leaves the map of a twin over another transport alone, at connect and at disconnect', async () => {
  const { host, attach } = openOne();
  const attachment = { ...attach('v'), wwid: 'naa.6001405a0' };
  show(host, 'sdx', { 'device/wwid': attachment.wwid });
  await host.run('multipathd', ['add', 'path', 'sdx']);
  assert.deepEqual(host.names('/sys/block/dm-0/slaves'), ['sdx']);
  await assert.rejects(iscsi.connect(attachment, host), { code: 'FAILED_PRECONDITION' });
  await iscsi.rescan?.(attachment, host);
  // multipathd adds disks with the same identifier itself.
  await host.run('multipathd', ['add', 'path', 'sda']);
  await iscsi.disconnect(attachment, host);
  assert.deepEqual(host.names('/sys/block'), ['sdx', 'dm-0']);
  assert.deepEqual(host.names('/sys/block/dm-0/slaves'), ['sdx']);
  assert.deepEqual(host.names('/sys/class/iscsi_session'), []);
  const touching = / -f |disablequeueing|resize/;
  assert.ok(!host.lines.some(line => touching.test(line)));
});

test('iscsi owns only a map of its own disks, and one without disks by its name', async () => {
  const { host, attach } = openIscsi();
  const attachment = attach('v');
  const { number } = await iscsi.connect(attachment, host);
  assert.equal(await iscsi.owns(attachment, number, host), true);
  show(host, 'sdx', { 'device/wwid': 'naa.5' });
  host.put('/sys/block/dm-0/slaves/sdx/dev', 'x');
  assert.equal(await iscsi.owns(attachment, number, host), false);
  host.drop('/sys/block/dm-0/slaves');
  host.put('/sys/block/dm-0/dm/uuid', 'mpath-36001405a0');
  assert.equal(await iscsi.owns({ ...attachment, wwid: 'naa.6001405a0' }, number, host), true);
  assert.equal(await iscsi.owns({ ...attachment, wwid: 'naa.6001405a00' }, number, host), false);
});

test('iscsi names the missing requirements of two portals', async () => {
  const { host, attach } = openIscsi();
  host.state.missing.add('multipath');
  await assert.rejects(iscsi.connect(attach('v'), host), {
    code: 'FAILED_PRECONDITION',
    detail: '"multipath" is not installed on this node',
  });
});

test('iscsi refuses invalid names, and a volume without identifiers', async () => {
  const { host, attach } = openIscsi();
  const { wwid: _, ...nameless } = attach('v');
  await assert.rejects(iscsi.connect(nameless, host), { code: 'INVALID_ARGUMENT' });
  for (const name of ['-x', 'iqn.a/../b', 'iqn.a b', '', 'nqn.x'])
    await assert.rejects(iscsi.connect({ ...nameless, wwid: 'naa.5', target: name }, host), {
      code: 'INVALID_ARGUMENT',
    });
  assert.deepEqual(host.lines, []);
});
