import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attachment } from '../../../../src/api/attachment.ts';
import { nvmeTcp } from '../../../../node-agent/connectors/nvme-tcp.ts';
import { testConnector, testConnectorFaults } from '../../../suites/connector.ts';
import { openNvme, show, subsystem } from './worlds.ts';

testConnector({ name: 'nvme-tcp', connector: nvmeTcp, open: openNvme });
testConnectorFaults({ name: 'nvme-tcp', connector: nvmeTcp, open: openNvme });

test('nvme-tcp connects to each address with the options of its connections', async () => {
  const { host, attach } = openNvme();
  await nvmeTcp.connect(attach('v'), host);
  const rest = `--nqn=${subsystem} --ctrl-loss-tmo=600 --reconnect-delay=2 --keep-alive-tmo=5`;
  assert.deepEqual(host.lines, [
    'modprobe --quiet -- nvme_tcp',
    `nvme connect --transport=tcp --traddr=192.0.2.7 --trsvcid=4420 ${rest}`,
    `nvme connect --transport=tcp --traddr=2001:db8::7 --trsvcid=4421 ${rest}`,
  ]);
});

test("nvme-tcp uses the attachment's host name, and refuses an invalid name or id", async () => {
  const { host, attach } = openNvme();
  const hostId = '11111111-2222-4333-8444-555555555555';
  await nvmeTcp.connect({ ...attach('v'), hostNqn: 'nqn.2014-08.org.example:n1', hostId }, host);
  const lines = host.lines.filter(line => line.startsWith('nvme connect'));
  assert.equal(lines.length, 2);
  for (const line of lines)
    assert.ok(line.endsWith(`--hostnqn=nqn.2014-08.org.example:n1 --hostid=${hostId}`));
  for (const names of [
    { hostNqn: 'n1', hostId },
    { hostNqn: 'nqn.a:b' },
    { hostNqn: 'nqn.a:b', hostId: '1' },
  ])
    await assert.rejects(nvmeTcp.connect({ ...attach('w'), ...names }, host), { code: 'INVALID_ARGUMENT' });
});

test('nvme-tcp keeps controllers that another volume may need, or that are in use', async () => {
  const { host, attach, use, left } = openNvme();
  const one = attach('one');
  const two: Attachment = attach('two');
  await nvmeTcp.connect(one, host);
  const { path } = await nvmeTcp.connect(two, host);
  await nvmeTcp.disconnect(one, host, () => [two]);
  assert.equal(left().length, 2);
  const release = await use(path);
  await nvmeTcp.disconnect(one, host);
  assert.equal(left().length, 2);
  await release();
  host.put('/sys/class/nvme/nvme9/subsysnqn', subsystem);
  host.put('/sys/class/nvme/nvme9/transport', 'tcp');
  host.put('/sys/class/nvme/nvme9/address', 'traddr=192.0.2.9,trsvcid=4420');
  await nvmeTcp.disconnect(two, host);
  assert.deepEqual(left(), ['nvme9']);
});

test('nvme-tcp cuts off no namespace whose controllers somebody else needs', async () => {
  const { host, attach, use, left } = openNvme();
  const one = attach('one');
  const two: Attachment = attach('two');
  await use((await nvmeTcp.connect(one, host)).path);
  const refused = { code: 'FAILED_PRECONDITION', detail: /cannot be cut off alone/ };
  await assert.rejects(
    nvmeTcp.cutOff(one, host, () => [two]),
    refused,
  );
  await use((await nvmeTcp.connect(two, host)).path);
  await assert.rejects(nvmeTcp.cutOff(one, host), refused);
  assert.equal(left().length, 2);
});

test('nvme-tcp refuses a subsystem with only another namespace, and leaves no controller', async () => {
  const { host, attach, left } = openNvme();
  const [one, two] = [attach('one'), attach('two')];
  const wwid = two.wwid.replace(/.$/, '9');
  const refused = { code: 'FAILED_PRECONDITION', detail: /but not "uuid\.0.*9"/ };
  await assert.rejects(nvmeTcp.connect({ ...two, wwid }, host), refused);
  await assert.rejects(nvmeTcp.connect({ ...two, sizeBytes: 9 * two.sizeBytes }, host), {
    code: 'FAILED_PRECONDITION',
  });
  assert.deepEqual(left(), []);
  await nvmeTcp.connect(one, host);
  await assert.rejects(nvmeTcp.connect({ ...two, wwid }, host), refused);
  assert.equal(left().length, 2, "the other volume's stay");
});

test('nvme-tcp knows a controller by its address in every spelling', async () => {
  const { host, attach, left } = openNvme();
  const attachment = attach('v');
  const spelled = { ...attachment, addresses: ['192.0.2.7:4420', '[2001:0DB8:0:0::7]:4421'] };
  const device = await nvmeTcp.connect(attachment, host);
  assert.deepEqual(await nvmeTcp.connect(spelled, host), device);
  assert.equal(left().length, 2);
  await nvmeTcp.disconnect(spelled, host);
  assert.deepEqual(left(), []);
});

test('nvme-tcp leaves a controller that the kernel is giving up to the kernel', async () => {
  const { host, attach, left } = openNvme();
  const attachment = attach('v');
  await nvmeTcp.connect(attachment, host);
  const tee = host.tools.get('tee') ?? assert.fail('there is no tee');
  host.tools.set('tee', (args, input) => {
    tee(args, input);
    return 1;
  });
  await nvmeTcp.disconnect(attachment, host);
  assert.deepEqual(left(), []);
});

test('nvme-tcp knows a namespace by any of its identifiers, and no partition of it', async () => {
  const { host, attach } = openNvme();
  const nguid = '00112233-4455-6677-8899-aabbccddeeff';
  show(host, 'nvme0n7', { dev: '259:7', wwid: 'nvme.1af4-1', nguid, eui: '00 11 22 33 44 55 66 77' });
  show(host, 'nvme0n7p1', { dev: '259:8', partition: '1', wwid: 'eui.0011223344556677' });
  const rows = [
    ['eui.00112233445566778899aabbccddeeff', '259:7', true],
    ['eui.0011223344556677', '259:7', true],
    ['eui.0011223344556677', '259:8', false],
    ['eui.001122334455667', '259:7', false],
    ['nvme.1af4-1', '259:9', false],
  ] as const;
  for (const [wwid, number, isOwn] of rows)
    assert.equal(await nvmeTcp.owns({ ...attach('v'), wwid }, number, host), isOwn, `${wwid} ${number}`);
});

test('nvme-tcp refuses two disks with the same identifier, and invalid names', async () => {
  const { host, attach } = openNvme();
  const attachment = attach('v');
  const facts = { wwid: attachment.wwid, 'device/subsysnqn': subsystem };
  show(host, 'nvme5n1', facts);
  await assert.rejects(nvmeTcp.connect(attachment, host), {
    code: 'FAILED_PRECONDITION',
    detail: /more than one/,
  });
  for (const wwid of ['nvme.1af4-1', 'uuid.1', 'eui.', 'naa.600'])
    await assert.rejects(nvmeTcp.connect({ ...attachment, wwid }, host), { code: 'INVALID_ARGUMENT' });
  for (const name of ['-x', 'nqn.a b', '', 'iqn.x'])
    await assert.rejects(nvmeTcp.connect({ ...attachment, subsystem: name }, host), {
      code: 'INVALID_ARGUMENT',
    });
});

test('nvme-tcp refuses several addresses if the kernel makes a device of each', async () => {
  const { host, attach } = openNvme();
  host.put('/sys/module/nvme_core/parameters/multipath', 'N');
  const attachment = attach('v');
  await assert.rejects(nvmeTcp.connect(attachment, host), {
    code: 'FAILED_PRECONDITION',
    detail: /multipath/,
  });
  await nvmeTcp.connect({ ...attachment, addresses: ['192.0.2.7:4420'] }, host);
});
