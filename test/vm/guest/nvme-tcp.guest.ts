import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import type { Problem } from '../../../src/api/problem.ts';
import { surveyProtocols } from '../../../node-agent/connectors/index.ts';
import { nvmeTcp } from '../../../node-agent/connectors/nvme-tcp.ts';
import { untilAvailable } from '../../harness/csi-serving.ts';
import { cutConnections, filesWith, host, MiB, readEach, startGuestNode, untilSeen } from './agent.ts';
import { demandKeys, hasTargetKeys, startNvmeTarget, type NvmeKeys } from '../targets/nvme-target.ts';

const subsystem = 'nqn.2014-08.org.example:fairlead';
const directory = '/sys/class/nvme';

mkdirSync('/etc/nvme', { recursive: true });
writeFileSync('/etc/nvme/hostnqn', 'nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555\n');
writeFileSync('/etc/nvme/hostid', '11111111-2222-3333-4444-555555555555\n');

/** Lists the kernel's controllers by name. */
const controllers = () => (existsSync(directory) ? readdirSync(directory) : []);

function open(t: TestContext) {
  const target = startNvmeTarget(t, subsystem);
  const [first = '', second = ''] = target.addresses;
  return { target, first, second, attachment: target.makeVolume('one', 64 * MiB) };
}

async function openNode(t: TestContext) {
  const opened = open(t);
  const node = await startGuestNode(t);
  return { ...opened, node, fields: node.volumeAt({ name: 'one', attachment: opened.attachment }) };
}

test('a node with these tools reports that it reaches volumes over nvme-tcp', async () => {
  const all = await surveyProtocols(host);
  const working = new Set(all.filter(({ reason }) => reason === undefined).map(({ protocol }) => protocol));
  for (const protocol of ['nvme-tcp', 'device', 'loop', 'nfs'] as const)
    assert.ok(working.has(protocol), protocol);
});

test('a volume over two addresses is one device, which is written, grows, and leaves no controller', async t => {
  const { target, node, fields, attachment } = await openNode(t);
  await node.requireLife(fields, {
    grow: sizeBytes => target.resize(attachment, sizeBytes),
    look: () => assert.equal(controllers().length, 2),
    left: controllers,
  });
});

test('a volume that is attached again while it is staged is cut off and staged anew', async t => {
  const { node, fields } = await openNode(t);
  await node.requireStagedAnew(fields, controllers);
});

test('an address that does not answer is left out and added by the next connect; without any address connect fails', async t => {
  const { target, attachment, first, second } = open(t);
  for (const address of target.addresses) target.stop(address);
  await assert.rejects(nvmeTcp.connect(attachment, host), { code: 'UNAVAILABLE' });
  await nvmeTcp.disconnect(attachment, host);
  assert.deepEqual(controllers(), []);
  target.start(first);
  const device = await nvmeTcp.connect(attachment, host);
  assert.equal(controllers().length, 1);
  target.start(second);
  assert.deepEqual(await nvmeTcp.connect(attachment, host), device);
  assert.equal(controllers().length, 2);
  await nvmeTcp.disconnect(attachment, host);
  assert.deepEqual(controllers(), []);
});

test('I/O continues while one of two addresses is lost', async t => {
  const { target, node, fields, first } = await openNode(t);
  await node.bringUp(fields);
  target.stop(first);
  node.write(fields);
  assert.equal(node.read(fields), 'data');
  await node.takeDown(fields);
  assert.deepEqual(controllers(), []);
});

test('a volume with a lost target can be disconnected', async t => {
  const { target, attachment } = open(t);
  const { number } = await nvmeTcp.connect(attachment, host);
  for (const address of target.addresses) target.stop(address);
  assert.equal(await nvmeTcp.owns(attachment, number, host), true);
  await nvmeTcp.disconnect(attachment, host);
  assert.deepEqual(controllers(), []);
});

test('two namespaces of one subsystem share its controllers until both are disconnected', async t => {
  const { target, node, fields } = await openNode(t);
  const ten = node.volumeAt({ name: 'vol10', attachment: target.makeVolume('vol10', 64 * MiB) });
  await node.requireSharing([fields, ten], controllers);
});

const hasKeys = hasTargetKeys();
const withKeys = hasKeys
  ? {}
  : { skip: 'needs a kernel with CONFIG_NVME_HOST_AUTH and CONFIG_NVME_TARGET_AUTH' };
const [own, theirs, other] = [createKey(), createKey(), createKey()];

function createKey(): string {
  return execFileSync('nvme', ['gen-dhchap-key', '--hmac=1'], { encoding: 'utf8' }).trim();
}

/** Opens a node and a subsystem, which demands keys if they are given. */
async function openKeys(t: TestContext, keys?: NvmeKeys) {
  const opened = await openNode(t);
  if (keys) demandKeys(t, opened.target, keys);
  const { node, fields } = opened;
  return {
    node,
    fields,
    left: () => [...controllers(), ...filesWith('DHHC', node.bench.directory, '/run')],
    async requireRefused(secrets: Readonly<Record<string, string>>, codes: readonly string[], says: RegExp) {
      const staging = node.client.node.NodeStageVolume({ ...fields, secrets });
      await assert.rejects(staging, (problem: Problem) => {
        assert.ok(codes.includes(problem.code), `${problem.code}: ${problem.detail}`);
        assert.match(problem.detail, says);
        assert.doesNotMatch(problem.detail, /DHHC/);
        return true;
      });
      // The kernel may wait a minute for the answer of a target that refused it.
      await untilSeen(() => controllers().length === 0);
    },
  };
}

test(
  'stage reports a kernel that cannot authenticate, even if the target accepts any node',
  hasKeys ? { skip: 'this kernel can' } : {},
  async t => {
    const { requireRefused, left } = await openKeys(t);
    await requireRefused(
      { 'dhchap-secret': own },
      ['FAILED_PRECONDITION'],
      /CONFIG_NVME_HOST_AUTH.*"dhchap-secret"/,
    );
    assert.deepEqual(left(), []);
  },
);

for (const [how, keys, secrets] of [
  ['the node proves itself', { host: own }, { 'dhchap-secret': own }],
  [
    'both prove themselves',
    { host: own, controller: theirs },
    { 'dhchap-secret': own, 'dhchap-ctrl-secret': theirs },
  ],
] as const)
  test(
    `a volume whose subsystem demands keys is staged if ${how}, written, and leaves nothing`,
    withKeys,
    async t => {
      const { node, fields, left } = await openKeys(t, keys);
      await node.requireLife(
        { ...fields, secrets },
        {
          look() {
            for (const name of controllers())
              for (const file of ['dhchap_secret', 'dhchap_ctrl_secret'])
                assert.equal(statSync(`${directory}/${name}/${file}`).mode & 0o777, 0o600);
            assert.deepEqual([controllers().length, left().length], [2, 2]);
          },
          left,
        },
      );
    },
  );

test('wrong keys on either side connect nothing and appear in no error', withKeys, async t => {
  const { requireRefused, node, fields } = await openKeys(t, { host: own, controller: theirs });
  for (const secrets of [
    { 'dhchap-secret': other },
    { 'dhchap-secret': own, 'dhchap-ctrl-secret': other },
    {},
  ])
    await requireRefused(
      secrets,
      ['UNAVAILABLE', 'DEADLINE_EXCEEDED'],
      /with the keys of this|key not available/,
    );
  await untilAvailable(() => node.client.node.NodeUnstageVolume(fields));
});

test('the kernel restores a lost connection with its key', withKeys, async t => {
  const { node, fields } = await openKeys(t, { host: own });
  await node.bringUp({ ...fields, secrets: { 'dhchap-secret': own } });
  cutConnections('dst', '127.0.0.1', 'dport', '=', ':4420');
  node.write(fields);
  await untilSeen(() => readEach(directory, 'state').every(state => state === 'live'));
  assert.equal(controllers().length, 2);
  await node.takeDown(fields);
  assert.deepEqual(controllers(), []);
});
