import assert from 'node:assert/strict';
import { test } from 'node:test';
import { iscsi } from '../../../../node-agent/connectors/iscsi.ts';
import type { Secrets } from '../../../../node-agent/connector.ts';
import { testConnectorSecrets } from '../../../suites/connector-secrets.ts';
import { openIscsi, portals, records, target } from './worlds.ts';

const [user, password, userIn, passwordIn] = [
  'node.session.auth.username',
  'node.session.auth.password',
  'node.session.auth.username_in',
  'node.session.auth.password_in',
] as const;
const oneWay = { [user]: 'canary-user', [password]: 'canary #= password' };
const mutual: Secrets = { ...oneWay, [userIn]: 'canary-user-in', [passwordIn]: 'canary-password-in' };
const proof = `${password} = canary #= password`;

function open(addresses: readonly string[] = portals) {
  const world = openIscsi(addresses);
  return { ...world, attachment: world.attach('v') };
}

const openOne = () => open(portals.slice(0, 1));

testConnectorSecrets({
  name: 'iscsi',
  connector: iscsi,
  open,
  addresses: portals,
  secrets: mutual,
  proof,
  canary: /canary|é/,
  refusal: { code: 'UNAUTHENTICATED', asking: /--login$/ },
  refused: [
    [{ ...oneWay, 'node.session.auth.user': 'canary' }, 'node.session.auth.user', /is unknown/],
    [{ ...oneWay, toString: 'canary' }, 'toString', /is unknown/],
    [{ 'dhchap-secret': 'canary' }, 'dhchap-secret', /is unknown/],
    [{ [user]: 'canary' }, user, /without "node\.session\.auth\.password"/],
    [{ [password]: 'canary' }, password, /without "node\.session\.auth\.username"/],
    [{ ...oneWay, [userIn]: 'canary' }, userIn, /without ".*password_in"/],
    [{ ...oneWay, [passwordIn]: 'canary' }, passwordIn, /without ".*username_in"/],
    [{ [userIn]: 'canary', [passwordIn]: 'canary' }, userIn, /without ".*username"/],
    [{ ...oneWay, [password]: '' }, password, /empty/],
    [{ ...oneWay, [password]: 'canary\n' }, password, /line break/],
    [{ ...oneWay, [user]: 'a\nnode.startup = automatic canary' }, user, /line break/],
    [{ ...oneWay, [user]: ' canary' }, user, /white space/],
    [{ ...oneWay, [user]: 'canary\0' }, user, /control/],
    [{ ...oneWay, [password]: `canary${'é'.repeat(125)}` }, password, /more than the 255/],
    [{ ...mutual, [passwordIn]: oneWay[password] }, passwordIn, /the same as/],
  ],
});

test('secrets enter the record of each portal right before the login, and leave with it', async () => {
  for (const secrets of [oneWay, mutual]) {
    const { host, attachment, left } = open();
    await iscsi.connect(attachment, host, secrets);
    const lines = Object.entries(secrets).map(([key, value]) => `${key} = ${value}`);
    const record = ['# a record', 'node.session.auth.authmethod = CHAP', ...lines].join('\n');
    for (const name of ['192.0.2.7,3260', '2001:db8::7,3260'])
      assert.equal(host.get(`${records}/${name}`), record);
    const ofFirst = host.lines.filter(line => line.includes('192.0.2.7'));
    const steps = ofFirst.map(line => line.split(' --op ').at(-1)?.split(' ', 1)[0]);
    assert.deepEqual(steps, ['new', 'update', 'dd', 'iscsiadm']);
    await iscsi.disconnect(attachment, host);
    assert.deepEqual(left(), []);
  }
});

test('a target that may not have proved its identity is reported as such, since iscsiadm cannot tell', async () => {
  for (const [secrets, detail] of [
    [mutual, /^target "iqn\.2003-01\.org\.example:t" may have failed to authenticate itself: "iscsiadm /],
    [oneWay, /^"iscsiadm .* ended with status 19$/],
  ] as const) {
    const { host, attachment } = openOne();
    const usual = host.tools.get('iscsiadm');
    host.tools.set('iscsiadm', (args, input) =>
      args.includes('--login') ? 19 : (usual?.(args, input) ?? 1),
    );
    await assert.rejects(iscsi.connect(attachment, host, secrets), { code: 'UNAVAILABLE', detail });
    assert.deepEqual(host.names(records), []);
  }
});

test('the error says that a target requires secrets if there are none', async () => {
  const { host, attachment, demands } = open();
  demands.text = proof;
  await assert.rejects(iscsi.connect(attachment, host), {
    code: 'UNAUTHENTICATED',
    detail: /does not accept this node without secrets/,
  });
});

test('a portal that does not answer hides no error of the other one, and has no record of secrets', async () => {
  const { host, attachment, demands, silent } = open();
  demands.text = 'another password';
  silent.add(portals[0]);
  await assert.rejects(iscsi.connect(attachment, host, oneWay), { code: 'UNAUTHENTICATED' });
  silent.add(portals[1]);
  await assert.rejects(iscsi.connect(attachment, host, oneWay), { code: 'UNAVAILABLE' });
  assert.deepEqual(host.names(records), []);
});

test('an open session keeps the secrets of its record', async () => {
  const { host, attachment } = openOne();
  await iscsi.connect(attachment, host, oneWay);
  const record = host.get(`${records}/192.0.2.7,3260`);
  await iscsi.connect(attachment, host);
  assert.equal(host.get(`${records}/192.0.2.7,3260`), record);
});

test('records are found at the paths of older and newer releases of open-iscsi', async () => {
  const { host, attachment } = openOne();
  const written: string[] = [];
  host.tools.set('dd', ([path = '']) => {
    written.push(path.replace('of=', ''));
    return 0;
  });
  const files = ['192.0.2.7,3260,1/default', '192.0.2.7,3260,1/other'].map(file => `${records}/${file}`);
  files.push(`/var/lib/iscsi/nodes/${target}/192.0.2.7,3260`);
  host.tools.set('iscsiadm', args => {
    for (const file of [`${records}/192.0.2.7,32600/x`, ...files]) host.put(file, 'x');
    return args.includes('--login') ? 4 : 0;
  });
  await assert.rejects(iscsi.connect(attachment, host, oneWay), { code: 'UNAVAILABLE' });
  assert.deepEqual(written, files);
});

test('login fails if the secrets cannot be written', async () => {
  const { host, attachment } = openOne();
  host.tools.set('iscsiadm', () => 0);
  await assert.rejects(iscsi.connect(attachment, host, oneWay), {
    code: 'FAILED_PRECONDITION',
    detail: /"\/etc\/iscsi\/nodes" or "\/var\/lib\/iscsi\/nodes"/,
  });
  assert.ok(!host.lines.some(line => line.endsWith('--login')));
});

test('secrets for discovery are accepted and not used, and a value may have 255 bytes', async () => {
  const { host, attachment } = openOne();
  const long = { ...oneWay, [password]: 'p'.repeat(255) };
  await iscsi.connect(attachment, host, { ...long, 'discovery.sendtargets.auth.username': 'd' });
  assert.doesNotMatch(host.get(`${records}/192.0.2.7,3260`) ?? '', /discovery/);
});
