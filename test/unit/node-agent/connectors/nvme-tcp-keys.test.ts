import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { nvmeTcp } from '../../../../node-agent/connectors/nvme-tcp.ts';
import { testConnectorSecrets } from '../../../suites/connector-secrets.ts';
import { addresses, openNvme, subsystem } from './worlds.ts';

/** Makes a key as nvme-cli does. */
function keyOf(data: Buffer, sum = crc32(data)): string {
  const check = Buffer.alloc(4);
  check.writeUInt32LE(sum);
  return `DHHC-1:01:${Buffer.concat([data, check]).toString('base64')}:`;
}

const [hostKey, controllerKey] = ['dhchap-secret', 'dhchap-ctrl-secret'] as const;
const [own, theirs] = [keyOf(Buffer.alloc(32, 7)), keyOf(Buffer.alloc(48, 8))];
const both = { [hostKey]: own, [controllerKey]: theirs };

/** Opens a machine that can authenticate, and records the kernel's connect options. */
function open() {
  const world = openNvme();
  const { host } = world;
  host.put('/proc/kallsyms', 'nvme_auth_negotiate');
  const inputs: string[] = [];
  const dd = host.tools.get('dd');
  host.tools.set('dd', (args, input) => {
    inputs.push(input);
    return dd?.(args, input) ?? 1;
  });
  return { ...world, attachment: world.attach('v'), inputs };
}

const noKeys = [
  `${own}\n`,
  own.replace('DHHC-1', 'DHHC-2'),
  own.replace(':01:', ':04:'),
  own.slice(0, -1),
  keyOf(Buffer.alloc(32, 7), 1),
  keyOf(Buffer.alloc(31, 7)),
  'DHHC-1:01:,traddr=192.0.2.9,:',
];

testConnectorSecrets({
  name: 'nvme-tcp',
  connector: nvmeTcp,
  open,
  addresses,
  secrets: both,
  proof: own,
  canary: /DHHC/,
  refusal: { code: 'UNAVAILABLE', asking: /^dd / },
  refused: [
    [{ 'node.session.auth.username': 'x' }, 'node.session.auth.username', /is unknown/],
    [{ [controllerKey]: theirs }, controllerKey, /without "dhchap-secret"/],
    [{ [hostKey]: '' }, hostKey, /empty/],
    ...noKeys.map(text => [{ [hostKey]: text }, hostKey, /not a DH-HMAC-CHAP key/] as const),
  ],
});

test("with keys the kernel gets each address on standard input, in nvme-cli's format", async () => {
  const { host, attachment, inputs } = open();
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

test('a node authenticates under the name that the attachment gives it', async () => {
  const { host, attachment, inputs } = open();
  const names = { hostNqn: 'nqn.a:b', hostId: '11111111-2222-4333-8444-555555555555' };
  await nvmeTcp.connect({ ...attachment, ...names }, host, both);
  assert.match(
    inputs[0] ?? '',
    /,hostnqn=nqn\.a:b,hostid=11111111-2222-4333-8444-555555555555,dhchap_secret=/,
  );
  assert.equal(inputs[0]?.match(/hostnqn/g)?.length, 1);
});

test("a node without its own host id uses its NQN's host id", async () => {
  const { host, attachment, inputs } = open();
  await nvmeTcp.connect(attachment, host, { [hostKey]: own });
  assert.match(inputs[0] ?? '', /,hostid=11111111-2222-3333-4444-555555555555$/);
  assert.doesNotMatch(inputs[0] ?? '', /dhchap_ctrl_secret/);
});

test("only root can read the kernel's view of a key, even of one that a crash left open", async () => {
  const { host, attachment } = open();
  for (const _ of ['the first time', 'again']) {
    await nvmeTcp.connect(attachment, host, both);
    for (const name of ['nvme0', 'nvme1']) {
      const mode = `/sys/class/nvme/${name}/dhchap_secret.mode`;
      assert.equal(host.get(mode), '0600');
      host.drop(mode);
    }
  }
});

test('a kernel that cannot authenticate connects nothing with keys', async () => {
  const { host, attachment, left } = open();
  host.drop('/proc/kallsyms');
  await assert.rejects(nvmeTcp.connect(attachment, host, both), {
    code: 'FAILED_PRECONDITION',
    detail: /CONFIG_NVME_HOST_AUTH.*"dhchap-secret"/,
  });
  assert.deepEqual(left(), []);
  await nvmeTcp.connect(attachment, host);
  assert.equal(left().length, 2);
});

test('a node without a name says so', async () => {
  const { host, attachment } = open();
  host.tools.set('nvme', () => ({ stdout: 'nqn.a,dhchap_secret=x' }));
  await assert.rejects(nvmeTcp.connect(attachment, host, both), {
    code: 'FAILED_PRECONDITION',
    detail: /show-hostnqn/,
  });
});
