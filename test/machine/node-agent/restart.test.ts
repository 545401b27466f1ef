import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectCsi } from '../../../src/csi/client.ts';
import { assertNothingLeft, driverName, openNode, type TestNode } from '../../harness/agent.ts';
import { startDev } from '../../harness/dev.ts';
import { mountsBelow, noRoot } from '../../harness/machine.ts';
import { isFull } from '../../harness/sample.ts';
import type { VolumeSpec } from '../../fakes/kubelet/paths.ts';
import { startWriting } from '../../fakes/kubelet/pod-process.ts';

const skip = noRoot;

test(
  "a pod's volumes are mounted and taken away in kubelet's order, and nothing is left",
  { skip },
  async t => {
    const node = openNode(t);
    node.startAgent();
    const kubelet = node.startKubelet();
    await kubelet.plugins.registered(driverName);
    const [file, block] = [node.makeVolume('file'), node.makeVolume('raw', { mode: 'Block' })];
    await kubelet.runPod({ uid: 'pod-1', volumes: [file] });
    await kubelet.runPod({ uid: 'pod-2', volumes: [block] });
    writeFileSync(join(kubelet.paths.target(file, 'pod-1'), 'file'), 'content');
    await (await startWriting(kubelet.paths.deviceLink(block, 'pod-2'))).finish();
    await kubelet.removePod('pod-1');
    await kubelet.removePod('pod-2');
    const calls = ['Stage file', 'Publish file', 'Stage raw', 'Publish raw'];
    const undone = ['Unpublish file', 'Unstage file', 'Unpublish raw', 'Unstage raw'];
    assert.deepEqual(shortened(kubelet.calls), [...calls, ...undone]);
    assert.deepEqual(kubelet.failures, []);
    assertNothingLeft(node);
  },
);

test(
  'two pods on one volume see the same files, and the volume stays until both are gone',
  { skip },
  async t => {
    const node = openNode(t);
    node.startAgent();
    const kubelet = node.startKubelet();
    await kubelet.plugins.registered(driverName);
    const volume = node.makeVolume('shared');
    const raw = node.makeVolume('shared-raw', { mode: 'Block' });
    await Promise.all(['pod-1', 'pod-2'].map(uid => kubelet.runPod({ uid, volumes: [volume, raw] })));
    writeFileSync(join(kubelet.paths.target(volume, 'pod-1'), 'file'), 'content');
    await kubelet.removePod('pod-1');
    assert.equal(readFileSync(join(kubelet.paths.target(volume, 'pod-2'), 'file'), 'utf8'), 'content');
    await (await startWriting(kubelet.paths.deviceLink(raw, 'pod-2'))).finish();
    assert.equal(kubelet.calls.filter(call => call.startsWith('NodeUnstageVolume')).length, 0);
    await kubelet.removePod('pod-2');
    for (const name of ['shared', 'shared-raw'])
      assert.equal(kubelet.calls.filter(call => call === `NodeStageVolume ${name}`).length, 1);
    assertNothingLeft(node);
  },
);

test(
  'a kubelet that was killed finds its volumes by their directories, and takes away those of lost pods',
  { skip },
  async t => {
    const node = openNode(t);
    node.startAgent();
    const before = node.startKubelet();
    await before.plugins.registered(driverName);
    const kept = { uid: 'kept', volumes: [node.makeVolume('a'), node.makeVolume('b', { mode: 'Block' })] };
    const lost = { uid: 'lost', volumes: [node.makeVolume('c'), node.makeVolume('d', { mode: 'Block' })] };
    await Promise.all([before.runPod(kept), before.runPod(lost)]);
    const writers = await Promise.all(pathsOf(before, kept).map(startWriting));
    before.stop();

    const after = node.startKubelet();
    await after.plugins.registered(driverName);
    await after.reconstruct([kept]);
    assert.deepEqual([...new Set(after.calls.map(call => call.replace(/^Node(\w+)Volume/, '$1')))].sort(), [
      'Publish a',
      'Publish b',
      'Stage a',
      'Stage b',
      'Unpublish c',
      'Unpublish d',
      'Unstage c',
      'Unstage d',
    ]);
    assert.deepEqual(after.failures, []);
    for (const writer of writers) assert.ok((await writer.finish()) > 0);
    await after.drain();
    assertNothingLeft(node);
  },
);

test('the volumes of force-killed pods are taken away at once', { skip }, async t => {
  const node = openNode(t);
  node.startAgent();
  const kubelet = node.startKubelet();
  await kubelet.plugins.registered(driverName);
  const pods = [1, 2, 3, 4].map(index => ({
    uid: `pod-${index}`,
    volumes: [node.makeVolume(`file-${index}`), node.makeVolume(`raw-${index}`, { mode: 'Block' })],
  }));
  await Promise.all(pods.map(pod => kubelet.runPod(pod)));
  const writers = await Promise.all(pods.flatMap(pod => pathsOf(kubelet, pod)).map(startWriting));
  await Promise.all(writers.map(writer => writer.kill()));
  await kubelet.drain();
  assertNothingLeft(node);
});

test('an agent that is killed or upgraded under I/O disturbs no pod', { skip }, async t => {
  const node = openNode(t);
  let agent = node.startAgent();
  const kubelet = node.startKubelet();
  await kubelet.plugins.registered(driverName);
  const pod = { uid: 'pod', volumes: [node.makeVolume('file'), node.makeVolume('raw', { mode: 'Block' })] };
  await kubelet.runPod(pod);
  const writers = await Promise.all(pathsOf(kubelet, pod).map(startWriting));
  for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGTERM'] as const) {
    const before = kubelet.plugins.events.length;
    await agent.end(signal);
    agent = node.startAgent();
    await kubelet.plugins.registered(driverName, before);
    // A pod comes and goes while the others write.
    await kubelet.runPod({ uid: 'guest', volumes: [node.makeVolume('guest')] });
    await kubelet.removePod('guest');
  }
  for (const writer of writers) assert.ok((await writer.finish()) > 0);
  await kubelet.drain();
  assertNothingLeft(node);
});

test(
  'an agent that is asked to end serves on until the last volume is taken away, and then ends',
  { skip },
  async t => {
    const node = openNode(t);
    const agent = node.startAgent({ 'shutdown-grace': '60s' });
    const kubelet = node.startKubelet();
    await kubelet.plugins.registered(driverName);
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
  },
);

test(
  'an agent ends with its grace though a volume is still in use, and a second signal does not wait',
  { skip },
  async t => {
    const node = openNode(t);
    const kubelet = node.startKubelet();
    for (const [grace, signals] of [
      ['300ms', 1],
      ['60s', 2],
    ] as const) {
      const before = kubelet.plugins.events.length;
      const agent = node.startAgent({ 'shutdown-grace': grace });
      await kubelet.plugins.registered(driverName, before);
      await kubelet.runPod({ uid: 'pod', volumes: [node.makeVolume('kept')] });
      await Promise.all(Array.from({ length: signals }, () => agent.end('SIGTERM')));
      assert.equal(mountsBelow(node.root).length, 2);
    }
    node.startAgent();
    await kubelet.drain();
    assertNothingLeft(node);
  },
);

/** How often the agent is killed. */
const kills = isFull ? 100 : 20;

test('killed again and again, the agent is registered every time, and nothing is left', { skip }, async t => {
  const node = openNode(t);
  const kubelet = node.startKubelet();
  const kept = { uid: 'kept', volumes: [node.makeVolume('kept')] };
  const volumes = ['x', 'y', 'z'].map(name => node.makeVolume(name));
  const took: number[] = [];
  let underWay: Promise<void> = Promise.resolve();
  let agent = node.startAgent();
  await kubelet.plugins.registered(driverName);
  await kubelet.runPod(kept);
  const [writer] = await Promise.all(pathsOf(kubelet, kept).map(startWriting));
  for (let round = 0; round < kills; round++) {
    const before = kubelet.plugins.events.length;
    await agent.end('SIGKILL');
    const startMs = performance.now();
    agent = node.startAgent();
    await kubelet.plugins.registered(driverName, before);
    took.push(performance.now() - startMs);
    // The next kill comes at another moment of mounting or of taking away.
    if (round % 5 === 0) {
      await underWay;
      underWay = round % 10 === 0 ? kubelet.runPod({ uid: 'moved', volumes }) : kubelet.removePod('moved');
      underWay.catch(() => {});
      await sleep((round * 7) % 60);
    }
  }
  await underWay;
  took.sort((a, b) => a - b);
  t.diagnostic(
    `exec to registered: median ${took[kills / 2]?.toFixed(0)} ms, worst ${took.at(-1)?.toFixed(0)} ms`,
  );
  assert.ok(kubelet.failures.length > 0, 'no kill came in the middle of a call');
  assert.ok(((await writer?.finish()) ?? 0) > 0);
  assert.deepEqual(readdirSync(kubelet.paths.registry), [`${driverName}-reg.sock`]);
  assert.deepEqual(readdirSync(join(node.root, 'plugins', driverName)), ['csi.sock']);
  await kubelet.drain();
  assertNothingLeft(node);
  await agent.end();
  assert.deepEqual(readdirSync(kubelet.paths.registry), []);
});

test(
  'a whole node drains: attached by the gateway, mounted for pods, taken away and detached',
  { skip },
  async t => {
    const node = openNode(t);
    const dev = await startDev({ dir: join(node.dir, 'dev'), 'node-id': 'n1' });
    const controller = connectCsi(dev.controller);
    t.after(async () => {
      controller.close();
      await dev.end();
    });
    node.startAgent();
    const kubelet = node.startKubelet();
    await kubelet.plugins.registered(driverName);
    const volumes = await Promise.all(
      ['one', 'two', 'three', 'four'].map(name => attach(controller, name, dev.nodeId)),
    );
    await Promise.all(
      volumes.map((volume, index) => kubelet.runPod({ uid: `pod-${index}`, volumes: [volume] })),
    );
    assert.equal(mountsBelow(node.root).length, 8);
    await kubelet.drain();
    const named = volumes.map(({ handle }) => ({ volume_id: handle, node_id: dev.nodeId }));
    await Promise.all(named.map(request => controller.controller.ControllerUnpublishVolume(request)));
    await Promise.all(named.map(({ volume_id }) => controller.controller.DeleteVolume({ volume_id })));
    assertNothingLeft(node);
  },
);

type Client = ReturnType<typeof connectCsi>;

/** Creates a volume and attaches it, as the sidecars do. */
async function attach({ controller }: Client, name: string, nodeId: string): Promise<VolumeSpec> {
  const access = { access_mode: { mode: 'SINGLE_NODE_MULTI_WRITER' } } as const;
  const capability = { mount: { fs_type: 'ext4' }, ...access };
  const range = { required_bytes: 64 * 1024 * 1024 };
  const { volume } = await controller.CreateVolume({
    name,
    capacity_range: range,
    volume_capabilities: [capability],
  });
  const handle = volume?.volume_id ?? '';
  const request = { volume_id: handle, node_id: nodeId, volume_capability: capability };
  const { publish_context: publishContext } = await controller.ControllerPublishVolume(request);
  return { name, handle, driver: driverName, mode: 'Filesystem', publishContext };
}

/** `NodeStageVolume pv` as `Stage pv`. */
function shortened(calls: readonly string[]): readonly string[] {
  return calls.map(call => call.replace(/^Node(\w+)Volume/, '$1'));
}

type PodOfTest = { readonly uid: string; readonly volumes: readonly VolumeSpec[] };

/** A file of its own on each filesystem of a pod, and its devices. */
function pathsOf({ paths }: { readonly paths: TestPaths }, { uid, volumes }: PodOfTest): readonly string[] {
  return volumes.map(volume => {
    if (volume.mode === 'Block') return paths.deviceLink(volume, uid);
    const path = join(paths.target(volume, uid), 'file');
    writeFileSync(path, '');
    return path;
  });
}

type TestPaths = ReturnType<TestNode['startKubelet']>['paths'];
