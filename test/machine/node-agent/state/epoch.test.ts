import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findNodeId } from '../../../../node-agent/state/epoch.ts';
import { readNodeIdentity } from '../../../../src/api/node-identity.ts';
import { connectCsi } from '../../../../src/csi/client.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { createFakeHost } from '../../../fakes/host.ts';
import { openNode } from '../../../harness/agent.ts';

const settings = { 'node-id': 'n1', 'node-epoch': 'state-dir', 'state-dir': '/state' } as const;
const epochOf = (nodeId: string): number => readNodeIdentity(nodeId).epoch ?? 0;

test('a machine keeps its epoch over kills, restarts and upgrades, and tells it as its node id', async t => {
  const node = openNode(t);
  const earliest = Math.floor(Date.now() / 1_000);
  const told: string[] = [];
  for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
    const agent = node.startAgent({ 'node-epoch': 'state-dir' });
    const { nodeId = '' } = await agent.ready;
    const client = connectCsi(`unix://${node.socket}`);
    told.push(nodeId, (await client.node.NodeGetInfo({})).node_id);
    client.close();
    await agent.end(signal);
  }
  const [nodeId = ''] = told;
  assert.deepEqual(new Set(told), new Set([nodeId]));
  assert.equal(readNodeIdentity(nodeId).name, 'n1');
  assert.ok(epochOf(nodeId) >= earliest && epochOf(nodeId) <= Date.now() / 1_000, nodeId);
});

test('a machine with an empty state directory is another one, and a later one', async t => {
  const node = openNode(t);
  const before = 1_763_700_000;
  mkdirSync(node.state);
  writeFileSync(join(node.state, 'epoch'), `${before}\n`);
  const start = async (): Promise<string> => {
    const agent = node.startAgent({ 'node-epoch': 'state-dir' });
    const { nodeId = '' } = await agent.ready;
    await agent.end('SIGKILL');
    return nodeId;
  };
  assert.equal(await start(), `n1@${before}`);
  rmSync(node.state, { recursive: true });
  assert.ok(epochOf(await start()) > before);
});

test('an epoch that was told once is the epoch from then on, wherever the first start was killed', async t => {
  const nowMs = Date.now();
  t.mock.timers.enable({ apis: ['Date'], now: nowMs });
  for (const when of ['before', 'after'] as const)
    for (let step = 1; ; step++) {
      const host = createFakeHost(['/state']);
      host.failAt({ step, when, how: 'crash' });
      const first = await findNodeId(settings, { host, log: silentLog }).catch(() => undefined);
      host.failAt(undefined);
      t.mock.timers.tick(5_000);
      const second = await findNodeId(settings, { host, log: silentLog });
      assert.ok(epochOf(second) >= Math.floor(nowMs / 1_000));
      if (first === undefined) continue;
      assert.equal(second, first);
      assert.equal(step, 3);
      break;
    }
});

test('an epoch that cannot be recorded is not told', async () => {
  const host = createFakeHost(['/state']);
  host.failAt({ step: 2, when: 'before', how: 'error' });
  await assert.rejects(findNodeId(settings, { host, log: silentLog }));
});

const damages: Readonly<Record<string, (path: string) => void>> = {
  'an empty file': path => writeFileSync(path, ''),
  'a file that was cut short': path => writeFileSync(path, '17637'),
  'two lines': path => writeFileSync(path, '1763700000\n1763700001\n'),
  'another word': path => writeFileSync(path, 'yesterday\n'),
  'a negative number': path => writeFileSync(path, '-5\n'),
  'zeros in front': path => writeFileSync(path, '0001763700000\n'),
  'a directory': path => mkdirSync(path),
  'a link to nothing': path => symlinkSync('nowhere', path),
};

test('an agent whose epoch is damaged does not start, says why, and makes no new one', async t => {
  const node = openNode(t);
  const path = join(node.state, 'epoch');
  for (const [what, damage] of Object.entries(damages)) {
    mkdirSync(node.state, { recursive: true });
    damage(path);
    const agent = node.startAgent({ 'node-epoch': 'state-dir' });
    const fault = new RegExp(
      `"${path}" is damaged: it does not hold one line with the epoch of this machine`,
    );
    await assert.rejects(agent.ready, fault, what);
    await assert.rejects(node.startAgent({ 'node-epoch': 'state-dir' }).ready, fault, what);
    assert.deepEqual(
      readdirSync(node.state).filter(name => !name.startsWith('lock.')),
      ['epoch'],
    );
    rmSync(node.state, { recursive: true });
  }
});

test('a name that ends as if it had an epoch is refused, and one that leaves no room for it', async () => {
  const host = createFakeHost(['/state']);
  const find = (name: string): Promise<string> =>
    findNodeId({ ...settings, 'node-id': name }, { host, log: silentLog });
  for (const name of ['n1@5', 'n1@0', 'n1@1763700000', '@5'])
    await assert.rejects(find(name), {
      message: /ends as if it had an epoch, which --node-epoch state-dir adds$/,
    });
  await assert.rejects(find('x'.repeat(246)), { message: /has 257 bytes, more than the 256 allowed$/ });
  assert.deepEqual(host.state.texts.size, 0);
  assert.match(await find('x'.repeat(245)), /^x{245}@\d{10}$/);
  assert.match(await find('user@example'), /^user@example@\d{10}$/);
});

test('a clock that was never set makes no epoch', async t => {
  t.mock.timers.enable({ apis: ['Date'], now: 86_400_000 });
  const host = createFakeHost(['/state']);
  await assert.rejects(findNodeId(settings, { host, log: silentLog }), {
    message: 'the clock has not been set: it says 1970-01-02T00:00:00.000Z',
  });
  assert.equal(host.state.texts.size, 0);
});

test('without an epoch the node id is what is set, whatever it looks like, and nothing is written', async () => {
  const host = createFakeHost(['/state']);
  for (const name of ['n1', 'n1@5', 'x'.repeat(256)]) {
    const given = { ...settings, 'node-id': name, 'node-epoch': 'none' } as const;
    assert.equal(await findNodeId(given, { host, log: silentLog }), name);
  }
  assert.equal(host.steps, 0);
});
