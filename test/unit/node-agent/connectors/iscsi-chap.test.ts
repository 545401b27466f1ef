import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import type { AttachmentOf } from '../../../../src/api/attachment.ts';
import { iscsi } from '../../../../node-agent/connectors/iscsi.ts';
import type { Secrets } from '../../../../node-agent/connector.ts';
import { openIscsiWorld } from '../../../fakes/disks.ts';
import { testConnectorFaults } from '../../../suites/connector-faults.ts';

const MiB = 2 ** 20;
const target = 'iqn.2003-01.org.example:t';
const both = ['192.0.2.7:3260', '[2001:db8::7]:3260'];
const nodes = `/etc/iscsi/nodes/${target}`;
const canary = 'canary';

const oneWay: Secrets = {
  'node.session.auth.username': `${canary}-user`,
  'node.session.auth.password': `${canary} #= password`,
};
const mutual: Secrets = {
  ...oneWay,
  'node.session.auth.username_in': `${canary}-user-in`,
  'node.session.auth.password_in': `${canary}-password-in`,
};

function open(portals: readonly string[] = both) {
  const world = openIscsiWorld(target);
  world.volumes.set('0', { name: 'a0', sizeBytes: MiB });
  const attachment: AttachmentOf<'iscsi'> = {
    protocol: 'iscsi',
    portals,
    target,
    lun: 0,
    wwid: 'naa.6001405a0',
    attachmentId: 'a',
    sizeBytes: MiB,
    readonly: false,
    mayFormat: true,
  };
  const left = () => [
    ...world.host.names('/sys/class/iscsi_session'),
    ...world.host.names('/sys/block'),
    ...world.host.names(nodes),
  ];
  return { ...world, attachment, left };
}

testConnectorFaults({
  name: 'iscsi with secrets',
  connector: iscsi,
  open() {
    const { host, attachment, demands, left } = open();
    demands.text = 'node.session.auth.password = canary #= password';
    return { host, attachment, secrets: oneWay, left };
  },
});

test('secrets go into the record of each portal right before the login, and leave with it', async () => {
  for (const secrets of [oneWay, mutual]) {
    const { host, attachment, demands, left } = open();
    demands.text = 'node.session.auth.password = canary #= password';
    await iscsi.connect(attachment, host, secrets);
    for (const name of ['192.0.2.7,3260', '2001:db8::7,3260']) {
      const lines = ['node.session.auth.authmethod = CHAP'];
      for (const [key, value] of Object.entries(secrets)) lines.push(`${key} = ${value}`);
      assert.equal(host.get(`${nodes}/${name}`), ['# a record', ...lines].join('\n'));
    }
    const firsts = host.lines
      .filter(line => line.includes('192.0.2.7'))
      .map(line => line.split(' --op ').at(-1));
    assert.deepEqual(
      firsts.map(line => line?.split(' ', 1)[0]),
      ['new', 'update', 'dd', 'iscsiadm'],
    );
    await iscsi.disconnect(attachment, host);
    assert.deepEqual(left(), []);
  }
});

test('no secret is an argument of a command, or in an error, whatever goes wrong', async () => {
  for (let step = 1; ; step++) {
    const { host, attachment, silent } = open(both.slice(0, 1));
    if (step % 2 === 0) silent.add(both[0] ?? '');
    host.failAt({ step, when: 'before', how: 'error' });
    const error = await iscsi.connect(attachment, host, mutual).catch((fault: unknown) => fault);
    const isPast = host.steps < step;
    host.failAt(undefined);
    await iscsi.disconnect(attachment, host);
    assert.doesNotMatch(inspect(error, { depth: 9 }), /canary/);
    assert.doesNotMatch(host.lines.join('\n'), /canary/);
    if (isPast && step % 2 === 1) return;
  }
});

test('a target that does not accept the secrets is asked once for each portal, and no record of them stays', async () => {
  const { host, attachment, demands } = open();
  demands.text = 'another password';
  await assert.rejects(iscsi.connect(attachment, host, oneWay), {
    code: 'UNAUTHENTICATED',
    detail: /^target "iqn\.2003-01\.org\.example:t" does not accept this node with the secrets given: /,
  });
  assert.equal(host.lines.filter(line => line.endsWith('--login')).length, 2);
  assert.deepEqual(host.names(nodes), []);
});

test('a target that does not prove itself is not told apart by iscsiadm, and that may be so is said', async () => {
  for (const [secrets, detail] of [
    [mutual, /^target "iqn\.2003-01\.org\.example:t" may not have proved itself: "iscsiadm /],
    [oneWay, /^"iscsiadm .* ended with status 19$/],
  ] as const) {
    const { host, attachment } = open(both.slice(0, 1));
    const usual = host.tools.get('iscsiadm');
    host.tools.set('iscsiadm', (args, input) =>
      args.includes('--login') ? 19 : (usual?.(args, input) ?? 1),
    );
    await assert.rejects(iscsi.connect(attachment, host, secrets), { code: 'UNAVAILABLE', detail });
    assert.deepEqual(host.names(nodes), []);
  }
});

test('a target that wants secrets and gets none says so', async () => {
  const { host, attachment, demands } = open();
  demands.text = 'password';
  await assert.rejects(iscsi.connect(attachment, host), {
    code: 'UNAUTHENTICATED',
    detail: /does not accept this node without secrets/,
  });
});

test('that one portal does not answer hides nothing of what the other says, and no record of it stays', async () => {
  const { host, attachment, demands, silent } = open();
  demands.text = 'another password';
  silent.add(both[0] ?? '');
  await assert.rejects(iscsi.connect(attachment, host, oneWay), { code: 'UNAUTHENTICATED' });
  silent.add(both[1] ?? '');
  await assert.rejects(iscsi.connect(attachment, host, oneWay), { code: 'UNAVAILABLE' });
  assert.deepEqual(host.names(nodes), []);
});

test('a session that stands needs no secrets, and its record keeps those that it has', async () => {
  const { host, attachment, demands, silent } = open();
  demands.text = 'canary #= password';
  silent.add(both[1] ?? '');
  const device = await iscsi.connect(attachment, host, oneWay);
  const record = host.get(`${nodes}/192.0.2.7,3260`);
  assert.deepEqual(await iscsi.connect(attachment, host), device);
  assert.equal(host.get(`${nodes}/192.0.2.7,3260`), record);
  silent.clear();
  assert.deepEqual(await iscsi.connect(attachment, host, oneWay), device);
  assert.equal(host.names('/sys/class/iscsi_session').length, 2);
});

test('records are found where open-iscsi keeps them by portal group, and where it is newer', async () => {
  const { host, attachment } = open(both.slice(0, 1));
  const written: string[] = [];
  host.tools.set('dd', ([path = '']) => {
    written.push(path);
    return 0;
  });
  host.tools.set('iscsiadm', args => {
    host.put(`${nodes}/192.0.2.7,32600/x`, 'x');
    host.put(`${nodes}/192.0.2.7,3260,1/default`, 'x');
    host.put(`${nodes}/192.0.2.7,3260,1/other`, 'x');
    host.put(`/var/lib/iscsi/nodes/${target}/192.0.2.7,3260`, 'x');
    return args.includes('--login') ? 4 : 0;
  });
  await assert.rejects(iscsi.connect(attachment, host, oneWay), { code: 'UNAVAILABLE' });
  assert.deepEqual(written, [
    `of=${nodes}/192.0.2.7,3260,1/default`,
    `of=${nodes}/192.0.2.7,3260,1/other`,
    `of=/var/lib/iscsi/nodes/${target}/192.0.2.7,3260`,
  ]);
});

test('secrets that cannot be put anywhere are no login without them', async () => {
  const { host, attachment } = open(both.slice(0, 1));
  host.tools.set('iscsiadm', () => 0);
  await assert.rejects(iscsi.connect(attachment, host, oneWay), {
    code: 'FAILED_PRECONDITION',
    detail: /"\/etc\/iscsi\/nodes" or "\/var\/lib\/iscsi\/nodes"/,
  });
  assert.deepEqual(
    host.lines.filter(line => line.endsWith('--login')),
    [],
  );
});

const [user, password, userIn, passwordIn] = [
  'node.session.auth.username',
  'node.session.auth.password',
  'node.session.auth.username_in',
  'node.session.auth.password_in',
] as const;
const refused: readonly { secrets: Secrets; key: string; why: RegExp }[] = [
  {
    secrets: { ...oneWay, 'node.session.auth.user': canary },
    key: 'node.session.auth.user',
    why: /not known/,
  },
  { secrets: { ...oneWay, toString: canary }, key: 'toString', why: /not known/ },
  { secrets: { 'dhchap-secret': canary }, key: 'dhchap-secret', why: /not known/ },
  { secrets: { [user]: canary }, key: user, why: /without "node\.session\.auth\.password"/ },
  { secrets: { [password]: canary }, key: password, why: /without "node\.session\.auth\.username"/ },
  { secrets: { ...oneWay, [userIn]: canary }, key: userIn, why: /without ".*password_in"/ },
  { secrets: { ...oneWay, [passwordIn]: canary }, key: passwordIn, why: /without ".*username_in"/ },
  { secrets: { [userIn]: canary, [passwordIn]: canary }, key: userIn, why: /without ".*username"/ },
  { secrets: { ...oneWay, [password]: '' }, key: password, why: /empty/ },
  { secrets: { ...oneWay, [password]: `${canary}\n` }, key: password, why: /line break/ },
  { secrets: { ...oneWay, [user]: `a\nnode.startup = automatic ${canary}` }, key: user, why: /line break/ },
  { secrets: { ...oneWay, [user]: ` ${canary}` }, key: user, why: /white space/ },
  { secrets: { ...oneWay, [user]: `${canary}\0` }, key: user, why: /control/ },
  {
    secrets: { ...oneWay, [password]: `${canary}${'é'.repeat(125)}` },
    key: password,
    why: /more than the 255/,
  },
  { secrets: { ...mutual, [passwordIn]: oneWay[password] ?? '' }, key: passwordIn, why: /the same as/ },
];

for (const { secrets, key, why } of refused)
  test(`secrets are refused by the name of ${key} alone (${why.source}), before anything is done`, async () => {
    const { host, attachment } = open();
    await assert.rejects(iscsi.connect(attachment, host, secrets), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'INVALID_ARGUMENT');
      assert.ok(error.message.startsWith(`secret "${key}" `), error.message);
      assert.match(error.message, why);
      assert.doesNotMatch(error.message, /canary|é/);
      return true;
    });
    assert.deepEqual(host.lines, []);
  });

test('what is for discovery is known and not used, and a value may have 255 bytes', async () => {
  const { host, attachment } = open(both.slice(0, 1));
  const long = { ...oneWay, [password]: 'p'.repeat(255) };
  await iscsi.connect(attachment, host, { ...long, 'discovery.sendtargets.auth.username': 'd' });
  assert.doesNotMatch(host.get(`${nodes}/192.0.2.7,3260`) ?? '', /discovery/);
});
