import assert from 'node:assert/strict';
import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  assertNothingLeft,
  driverName,
  homes,
  prepareNode,
  runNode,
  type TestNode,
} from '../../harness/node/program.ts';
import { mountsBelow, testAsRoot } from '../../harness/machine.ts';
import { isFull, sample } from '../../harness/sample.ts';
import type { Kubelet } from '../../fakes/kubelet/kubelet.ts';
import type { Pod } from '../../fakes/kubelet/paths.ts';
import { startWriting } from '../../fakes/kubelet/pod-process.ts';

type Work = (t: TestContext, node: TestNode) => Promise<void>;
type Home = (typeof homes)[number];

/** Runs the test with agents on the host, and with each agent in a mount namespace that ends with it, as in a pod. */
function test(title: string, work: Work, where: readonly Home[] = homes): void {
  for (const home of where) testAsRoot(`${title} (${home})`, t => work(t, prepareNode(t, home)));
}

test('two pods on one volume see the same files, and the volume stays until both have ended', async (t, node) => {
  const { kubelet } = await runNode(t, {}, { node });
  const volume = node.makeVolume('shared');
  const raw = node.makeVolume('shared-raw', { mode: 'Block' });
  await Promise.all(['pod-1', 'pod-2'].map(uid => kubelet.runPod({ uid, volumes: [volume, raw] })));
  writeFileSync(join(kubelet.paths.target(volume, 'pod-1'), 'file'), 'content');
  await kubelet.removePod('pod-1');
  assert.equal(readFileSync(join(kubelet.paths.target(volume, 'pod-2'), 'file'), 'utf8'), 'content');
  await (await startWriting(kubelet.paths.deviceLink(raw, 'pod-2'))).finish();
  await kubelet.removePod('pod-2');
  const once = callsOf(kubelet).filter(call => /^(Stage|Unstage)/.test(call));
  assert.deepEqual(once.slice(0, 2).sort(), ['Stage shared', 'Stage shared-raw']);
  assert.deepEqual(once.slice(2).sort(), ['Unstage shared', 'Unstage shared-raw']);
  assertNothingLeft(node);
});

test("a killed kubelet finds its volumes by their directories, and removes lost pods' volumes", async (t, node) => {
  const { kubelet: before } = await runNode(t, {}, { node });
  const kept = { uid: 'kept', volumes: [node.makeVolume('a'), node.makeVolume('b', { mode: 'Block' })] };
  const lost = { uid: 'lost', volumes: [node.makeVolume('c'), node.makeVolume('d', { mode: 'Block' })] };
  await Promise.all([before.runPod(kept), before.runPod(lost)]);
  const writers = await Promise.all(pathsOf(before, kept).map(startWriting));
  before.stop();

  const after = node.startKubelet();
  await after.plugins.registered(driverName);
  await after.reconstruct([kept]);
  const again = ['Publish a', 'Publish b', 'Stage a', 'Stage b'];
  const undone = ['Unpublish c', 'Unpublish d', 'Unstage c', 'Unstage d'];
  assert.deepEqual([...new Set(callsOf(after))].sort(), [...again, ...undone]);
  assert.deepEqual(after.failures, []);
  for (const writer of writers) assert.ok((await writer.finish()) > 0);
  await after.drain();
  assertNothingLeft(node);
});

test('an agent that is asked to end serves until the last volume is gone, and then ends', async (t, node) => {
  const { agent, kubelet } = await runNode(t, { 'shutdown-grace': '60s' }, { node });
  const volumes = [node.makeVolume('file'), node.makeVolume('raw', { mode: 'Block' })];
  await Promise.all(volumes.map(volume => kubelet.runPod({ uid: volume.name, volumes: [volume] })));
  let hasEnded = false;
  const ended = agent.end('SIGTERM').then(() => (hasEnded = true));
  await kubelet.removePod('file');
  await kubelet.runPod({ uid: 'late', volumes: [node.makeVolume('late')] });
  await kubelet.removePod('late');
  assert.equal(hasEnded, false);
  await kubelet.removePod('raw');
  await ended;
  assert.deepEqual(kubelet.failures, []);
  assertNothingLeft(node);
});

test('an agent ends after its grace period even if a volume is still in use, and a second signal does not wait', async (t, node) => {
  const pod = { uid: 'pod', volumes: [node.makeVolume('kept')] };
  for (const [grace, signals] of [
    ['300ms', 1],
    ['60s', 2],
  ] as const) {
    const { agent, kubelet } = await runNode(t, { 'shutdown-grace': grace }, { node });
    await kubelet.runPod(pod);
    const ended = agent.end('SIGTERM');
    // Signals of a kind that arrive at once may be merged.
    if (signals > 1) await agent.untilLogged(/received SIGTERM; continuing/);
    if (signals > 1) await agent.end('SIGTERM');
    await ended;
    assert.equal(mountsBelow(node.root).length, 2);
    kubelet.stop();
  }
  const { kubelet } = await runNode(t, {}, { node });
  await kubelet.reconstruct([]);
  assertNothingLeft(node);
});

test('an agent that is only replaced ends at once with volumes in use, and one on a drained node does not', async (t, node) => {
  const file = join(node.root, 'drained-nodes');
  const settings = { 'shutdown-grace': '600s', 'drained-nodes-file': file };
  writeFileSync(file, 'n\nother\n');
  const first = await runNode(t, settings, { node });
  await first.kubelet.runPod({ uid: 'pod', volumes: [node.makeVolume('kept')] });
  await first.agent.end('SIGTERM');
  first.kubelet.stop();
  const second = await runNode(t, settings, { node });
  const { nodeId } = await second.agent.ready;
  writeFileSync(file, `${nodeId}\nother\n`);
  const ended = second.agent.end('SIGTERM');
  await second.agent.untilLogged(/received SIGTERM; continuing/);
  await second.kubelet.reconstruct([]);
  await ended;
  assertNothingLeft(node);
});

/** The number of the agent's ends. */
const ends = isFull ? 100 : 20;

test('an agent that finds volumes from before it had a key keeps its id, and gets a key once they are gone', async (t, node) => {
  const { agent, kubelet } = await runNode(t, {}, { node });
  const { nodeId } = await agent.ready;
  assert.match(nodeId ?? '', /^n1~[\w-]{43}$/);
  const keyFile = join(node.state, 'node-key.json');
  assert.equal(statSync(keyFile).mode & 0o777, 0o600);
  await kubelet.runPod({ uid: 'pod', volumes: [node.makeVolume('one')] });
  const startAgain = async (from = agent) => {
    await from.end('SIGKILL');
    const next = node.startAgent();
    return { next, id: (await next.ready)['nodeId'] };
  };
  const same = await startAgain();
  assert.equal(same.id, nodeId);
  // The state that an agent of a release without keys leaves.
  rmSync(keyFile);
  const older = await startAgain(same.next);
  assert.equal(older.id, 'n1');
  await kubelet.drain();
  const { id } = await startAgain(older.next);
  assert.match(id ?? '', /^n1~[\w-]{43}$/);
  assert.notEqual(id, nodeId);
  assertNothingLeft(node);
});

test(
  'an agent that is killed or upgraded repeatedly is registered every time, disturbs no pod, and leaves nothing',
  killOften,
  sample('homes', homes, 1),
);

async function killOften(t: TestContext, node: TestNode): Promise<void> {
  const running = await runNode(t, {}, { node });
  const { kubelet, drain } = running;
  const kept = { uid: 'kept', volumes: [node.makeVolume('file'), node.makeVolume('raw', { mode: 'Block' })] };
  const volumes = ['x', 'y', 'z'].map(name => node.makeVolume(name));
  let underWay: Promise<void> = Promise.resolve();
  await kubelet.runPod(kept);
  const writers = await Promise.all(pathsOf(kubelet, kept).map(startWriting));
  let { agent } = running;
  for (let round = 0; round < ends; round++) {
    const before = kubelet.plugins.events.length;
    await agent.end(round % 4 === 3 ? 'SIGTERM' : 'SIGKILL');
    agent = node.startAgent();
    await kubelet.plugins.registered(driverName, before);
    // The next end comes at another moment of mounting or unmounting.
    if (round % 5 === 0) {
      await underWay;
      underWay = round % 10 === 0 ? kubelet.runPod({ uid: 'moved', volumes }) : kubelet.removePod('moved');
      underWay.catch(() => {});
      await sleep((round * 7) % 60);
    }
  }
  await underWay;
  assert.ok(kubelet.failures.length > 0, 'no end came in the middle of a call');
  for (const writer of writers) assert.ok((await writer.finish()) > 0);
  assert.deepEqual(readdirSync(kubelet.paths.registry), [`${driverName}-reg.sock`]);
  assert.deepEqual(readdirSync(join(node.root, 'plugins', driverName)), ['csi.sock']);
  await drain();
  await agent.end();
  assert.deepEqual(readdirSync(kubelet.paths.registry), []);
}

/** Lists the calls of a kubelet, with `NodeStageVolume pv` as `Stage pv`. */
function callsOf({ calls }: Kubelet): readonly string[] {
  return calls.map(call => call.replace(/^Node(\w+)Volume/, '$1'));
}

/** Lists a file on each filesystem of a pod, and its devices. */
function pathsOf({ paths }: Kubelet, { uid, volumes }: Pod): readonly string[] {
  return volumes.map(volume => {
    if (volume.mode === 'Block') return paths.deviceLink(volume, uid);
    const path = join(paths.target(volume, uid), 'file');
    writeFileSync(path, '');
    return path;
  });
}
