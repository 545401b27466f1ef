import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { crc32 } from 'node:zlib';
import type { AttachmentOf } from '../../../../src/api/attachment.ts';
import { nvmeTcp } from '../../../../node-agent/connectors/nvme-tcp.ts';
import type { Secrets } from '../../../../node-agent/connector.ts';
import { openNvmeWorld } from '../../../fakes/disks.ts';
import { testConnectorFaults } from '../../../suites/connector-faults.ts';

const subsystem = 'nqn.2014-08.org.example:s';
const addresses = ['192.0.2.7:4420', '[2001:db8::7]:4421'];
const wwid = 'uuid.00000000-0000-4000-8000-000000000001';

/** A key as nvme-cli makes one. */
function keyOf(data: Buffer, sum = crc32(data)): string {
  const check = Buffer.alloc(4);
  check.writeUInt32LE(sum);
  return `DHHC-1:01:${Buffer.concat([data, check]).toString('base64')}:`;
}

const [own, theirs] = [keyOf(Buffer.alloc(32, 7)), keyOf(Buffer.alloc(48, 8))];
const both: Secrets = { 'dhchap-secret': own, 'dhchap-ctrl-secret': theirs };

function open() {
  const world = openNvmeWorld(subsystem);
  world.volumes.set(wwid, { name: 'nvme0n1', sizeBytes: 1024 });
  world.host.put('/proc/kallsyms', 'nvme_auth_negotiate');
  const attachment: AttachmentOf<'nvme-tcp'> = {
    protocol: 'nvme-tcp',
    addresses,
    subsystem,
    wwid,
    attachmentId: 'a',
    sizeBytes: 1024,
    readonly: false,
    mayFormat: true,
  };
  return { ...world, attachment, controllers: () => world.host.names('/sys/class/nvme') };
}

testConnectorFaults({
  name: 'nvme-tcp with secrets',
  connector: nvmeTcp,
  open() {
    const { host, attachment, demands, controllers } = open();
    demands.text = own;
    return { host, attachment, secrets: both, left: controllers };
  },
});

test('with keys the kernel is told of each address on standard input, as nvme-cli would tell it', async () => {
  const { host, attachment } = open();
  const inputs: string[] = [];
  const dd = host.tools.get('dd');
  host.tools.set('dd', (args, input) => {
    inputs.push(input);
    return dd?.(args, input) ?? 1;
  });
  host.put('/etc/nvme/hostid', '99999999-2222-3333-4444-555555555555');
  await nvmeTcp.connect(attachment, host, both);
  const rest = [
    `nqn=${subsystem},ctrl_loss_tmo=600,reconnect_delay=2,keep_alive_tmo=5`,
    `dhchap_secret=${own},dhchap_ctrl_secret=${theirs}`,
    'hostnqn=nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555',
    'hostid=99999999-2222-3333-4444-555555555555',
  ].join(',');
  assert.deepEqual(inputs, [
    `transport=tcp,traddr=192.0.2.7,trsvcid=4420,${rest}`,
    `transport=tcp,traddr=2001:db8::7,trsvcid=4421,${rest}`,
  ]);
  const lines = host.lines.filter(line => line.startsWith('dd '));
  const line = 'dd of=/dev/nvme-fabrics bs=4096 iflag=fullblock conv=notrunc,nocreat status=none';
  assert.deepEqual(lines, [line, line]);
});

test('a node without a host id of its own has that of its NQN', async () => {
  const { host, attachment } = open();
  let text = '';
  const dd = host.tools.get('dd');
  host.tools.set('dd', (args, input) => {
    text = input;
    return dd?.(args, input) ?? 1;
  });
  await nvmeTcp.connect(attachment, host, { 'dhchap-secret': own });
  assert.match(text, /,hostid=11111111-2222-3333-4444-555555555555$/);
  assert.doesNotMatch(text, /dhchap_ctrl_secret/);
});

test('what the kernel shows of a key is for root alone', async () => {
  const { host, attachment } = open();
  await nvmeTcp.connect(attachment, host, both);
  for (const name of ['nvme0', 'nvme1'])
    assert.equal(host.get(`/sys/class/nvme/${name}/dhchap_secret.mode`), '0600');
});

test('no key is an argument of a command, or in an error, whatever goes wrong', async () => {
  for (let step = 1; ; step++) {
    const { host, attachment } = open();
    host.failAt({ step, when: 'before', how: 'error' });
    const error = await nvmeTcp.connect(attachment, host, both).catch((fault: unknown) => fault);
    const isPast = host.steps < step;
    host.failAt(undefined);
    assert.doesNotMatch(inspect(error, { depth: 9 }), /DHHC/);
    assert.doesNotMatch(host.lines.join('\n'), /DHHC/);
    if (isPast) return;
  }
});

test('a kernel that cannot authenticate is told of, and nothing is connected without', async () => {
  const { host, attachment, controllers } = open();
  host.drop('/proc/kallsyms');
  await assert.rejects(nvmeTcp.connect(attachment, host, both), {
    code: 'FAILED_PRECONDITION',
    detail: /CONFIG_NVME_HOST_AUTH.*"dhchap-secret"/,
  });
  assert.deepEqual(controllers(), []);
  await nvmeTcp.connect(attachment, host);
  assert.equal(controllers().length, 2);
});

test('a controller that refuses the key is asked once for each address, and may accept it later', async () => {
  const { host, attachment, demands } = open();
  demands.text = 'another key';
  await assert.rejects(nvmeTcp.connect(attachment, host, both), { code: 'UNAVAILABLE', detail: /refused/ });
  assert.equal(host.lines.filter(line => line.startsWith('dd ')).length, 2);
  demands.text = own;
  await nvmeTcp.connect(attachment, host, both);
});

test('connections that stand need no key', async () => {
  const { host, attachment, demands } = open();
  demands.text = own;
  const device = await nvmeTcp.connect(attachment, host, both);
  assert.deepEqual(await nvmeTcp.connect(attachment, host), device);
});

test('a node that has no name says so', async () => {
  const { host, attachment } = open();
  host.tools.set('nvme', () => ({ stdout: 'nqn.a,dhchap_secret=x' }));
  await assert.rejects(nvmeTcp.connect(attachment, host, both), {
    code: 'FAILED_PRECONDITION',
    detail: /show-hostnqn/,
  });
});

const refused: readonly { secrets: Secrets; key: string; why: RegExp }[] = [
  { secrets: { 'node.session.auth.username': 'x' }, key: 'node.session.auth.username', why: /not known/ },
  { secrets: { 'dhchap-ctrl-secret': theirs }, key: 'dhchap-ctrl-secret', why: /without "dhchap-secret"/ },
  { secrets: { 'dhchap-secret': '' }, key: 'dhchap-secret', why: /empty/ },
  ...[
    `${own}\n`,
    own.replace('DHHC-1', 'DHHC-2'),
    own.replace(':01:', ':04:'),
    own.slice(0, -1),
    keyOf(Buffer.alloc(32, 7), 1),
    keyOf(Buffer.alloc(31, 7)),
    'DHHC-1:01:,traddr=192.0.2.9,:',
  ].map(text => ({ secrets: { 'dhchap-secret': text }, key: 'dhchap-secret', why: /no DH-HMAC-CHAP key/ })),
];

for (const [index, { secrets, key, why }] of refused.entries())
  test(`keys are refused by the name of ${key} alone (${index}, ${why.source}), before anything is done`, async () => {
    const { host, attachment } = open();
    await assert.rejects(nvmeTcp.connect(attachment, host, secrets), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'INVALID_ARGUMENT');
      assert.ok(error.message.startsWith(`secret "${key}" `), error.message);
      assert.match(error.message, why);
      assert.doesNotMatch(error.message, /DHHC/);
      return true;
    });
    assert.deepEqual(host.lines, []);
  });
