import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Agent } from '../../node-agent/agent.ts';
import type { EphemeralPool } from '../../node-agent/ephemeral.ts';
import { createNode } from '../../node-agent/node.ts';
import { unpublish } from '../../node-agent/publish.ts';
import type { UnaryCall } from '../../src/csi/unary.ts';
import type { FakeFault } from '../fakes/host.ts';
import { loopDevicesOf, mountsBelow } from '../harness/machine.ts';
import { MiB, openFakeBench, openRealBench, startAgent, whyNoMachine, type Bench } from './bench.ts';

const real = whyNoMachine ? { skip: whyNoMachine } : {};
const call: UnaryCall = { deadlineMs: 0, requestId: 'r', signal: new AbortController().signal };
const context = { 'csi.storage.k8s.io/ephemeral': 'true', 'csi.storage.k8s.io/pod.name': 'p', size: '32Mi' };

/** The node's answers over an agent that keeps images below the bench. */
async function open(bench: Bench, pool: Partial<EphemeralPool> = {}) {
  const directory = `${bench.directory}/images`;
  await bench.host.makeDirectory(directory);
  const agent: Agent = {
    ...(await startAgent(bench)),
    ephemeral: { directory, capacityBytes: undefined, ...pool },
  };
  const node = createNode(agent, { nodeId: 'n', maxVolumes: 0, topology: async () => ({}) });
  const ask = async (
    rpc: 'Publish' | 'Unpublish' | 'Stage' | 'Unstage',
    change: object = {},
  ): Promise<unknown> => node[`Node${rpc}Volume`]?.({ ...requestFor(bench), ...change } as never, call);
  return { agent, ask, directory };
}

function requestFor({ directory }: Bench) {
  return {
    volume_id: 'csi-0123',
    target_path: `${directory}/pods/v`,
    staging_target_path: '',
    publish_context: {},
    volume_context: context,
    volume_capability: {
      access_type: 'mount' as const,
      mount: { fs_type: 'ext4', mount_flags: [], volume_mount_group: '' },
      block: null,
      access_mode: { mode: 'SINGLE_NODE_WRITER' as const },
    },
    readonly: false,
    secrets: {},
  };
}

type Fake = ReturnType<typeof openFakeBench>;

function assertClean({ host: { state }, directory }: Fake): void {
  const files = [...state.paths.keys()].filter(path => /\.img$|\.json$|pods\/v$/.test(path));
  assert.deepEqual(
    [state.mounts, [...state.loops], [...state.images.keys()], [...state.texts.keys()], files],
    [[], [], [], [], []],
    directory,
  );
}

for (const how of ['error', 'crash'] as const) {
  for (const when of ['before', 'after'] as const) {
    for (const heal of ['retry', 'unpublish'] as const) {
      test(`an ephemeral volume: the ${heal} heals every step that ends in ${how} ${when} its effect`, async () => {
        let hasReachedEnd = false;
        for (let step = 1; !hasReachedEnd; step++) hasReachedEnd = await failStep({ step, how, when }, heal);
      });
    }
  }
}

/** Fails one step of publish and unpublish, heals, and looks at what is left; true once there is no such step. */
async function failStep(fault: FakeFault, heal: 'retry' | 'unpublish'): Promise<boolean> {
  const bench = openFakeBench();
  const { host } = bench;
  let { ask } = await open(bench);
  host.failAt(fault);
  let published = false;
  try {
    await ask('Publish');
    published = true;
    await ask('Unpublish');
  } catch {
    // What failed is tried again, or undone, below.
  }
  const hasReachedEnd = host.steps < fault.step;
  host.failAt(undefined);
  if (fault.how === 'crash') ({ ask } = await open(bench));
  if (heal === 'retry' && !published) {
    await ask('Publish');
    assert.equal(host.state.mounts.at(-1)?.path, `${bench.directory}/pods/v`);
  }
  await ask('Unpublish');
  await ask('Unpublish');
  assertClean(bench);
  assert.ok(host.state.formatted.every(found => found === 'blank'));
  return hasReachedEnd;
}

const refused = [
  {
    change: { volume_context: { ...context, size: undefined } },
    code: 'INVALID_ARGUMENT',
    says: /"size" is missing/,
  },
  {
    change: { volume_context: { ...context, size: '1GB' } },
    code: 'INVALID_ARGUMENT',
    says: /"size": "1GB" is not/,
  },
  { change: { volume_context: { ...context, size: '0' } }, code: 'INVALID_ARGUMENT', says: /"size" is 0/ },
  {
    change: { volume_context: { ...context, colour: 'x' } },
    code: 'INVALID_ARGUMENT',
    says: /"colour" is not known/,
  },
  {
    change: { volume_context: { ...context, 'fs.x': 'x' } },
    code: 'INVALID_ARGUMENT',
    says: /"fs\.x" is not known/,
  },
  { change: { readonly: true }, code: 'INVALID_ARGUMENT', says: /cannot be read-only/ },
  {
    change: { staging_target_path: '/bench/stage/v' },
    code: 'INVALID_ARGUMENT',
    says: /staging_target_path is given/,
  },
  {
    change: { publish_context: { protocol: 'loop' } },
    code: 'INVALID_ARGUMENT',
    says: /publish_context is given/,
  },
  {
    change: { volume_capability: { access_type: 'block', access_mode: { mode: 'SINGLE_NODE_WRITER' } } },
    code: 'INVALID_ARGUMENT',
    says: /cannot be a block volume/,
  },
  {
    change: { volume_context: { ...context, size: '512Ki', 'fs.blockSize': '7' } },
    code: 'INVALID_ARGUMENT',
    says: /fs\.blockSize/,
  },
  {
    change: { target_path: '/bench/pods/none/v' },
    code: 'FAILED_PRECONDITION',
    says: /target_path .*none" is not there/,
  },
  {
    change: { volume_context: { ...context, size: '64Mi' } },
    code: 'RESOURCE_EXHAUSTED',
    says: /have 0 of the 50331648 that they may have/,
  },
];

for (const { change, code, says } of refused) {
  test(`an ephemeral volume with ${JSON.stringify(change).slice(0, 110)} is ${code} and leaves nothing`, async () => {
    const bench = openFakeBench();
    const { ask } = await open(bench, { capacityBytes: 48 * MiB });
    const given = Object.fromEntries(
      Object.entries({ ...requestFor(bench), ...change }).map(([key, value]) => [
        key,
        key === 'volume_context' ? withoutUndefined(value) : value,
      ]),
    );
    await assert.rejects(ask('Publish', given), { code, message: says });
    assertClean(bench);
  });
}

function withoutUndefined(map: unknown): object {
  return Object.fromEntries(Object.entries(Object(map)).filter(([, value]) => value !== undefined));
}

test('without a directory for them, ephemeral volumes are refused by the name of the setting', async () => {
  const bench = openFakeBench();
  const { ephemeral: _, ...agent } = (await open(bench)).agent;
  const node = createNode(agent, { nodeId: 'n', maxVolumes: 0, topology: async () => ({}) });
  await assert.rejects(async () => node.NodePublishVolume?.(requestFor(bench) as never, call), {
    code: 'FAILED_PRECONDITION',
    message: /setting ephemeral-dir/,
  });
});

test('all ephemeral volumes together stay within their capacity, however many are asked for at once', async () => {
  const bench = openFakeBench();
  const { ask } = await open(bench, { capacityBytes: 80 * MiB });
  const asked = [1, 2, 3, 4].map(index =>
    ask('Publish', { volume_id: `csi-${index}`, target_path: `${bench.directory}/pods/v${index}` }),
  );
  const outcomes = await Promise.allSettled(asked);
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 2);
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'RESOURCE_EXHAUSTED');
});

test('a disk that is full is RESOURCE_EXHAUSTED and leaves nothing', async () => {
  const bench = openFakeBench();
  const { ask } = await open(bench);
  bench.host.state.freeBytes = 1_000;
  await assert.rejects(ask('Publish'), { code: 'RESOURCE_EXHAUSTED', message: /has 1000 bytes free/ });
  assertClean(bench);
});

test('a file that is there already is neither used nor removed', async () => {
  const bench = openFakeBench();
  const { ask, agent, directory } = await open(bench);
  await ask('Publish');
  const [{ attachment } = assert.fail()] = agent.records.all();
  await ask('Unpublish');
  assert.ok(attachment.protocol === 'loop' && attachment.path.startsWith(`${directory}/`));
  const { paths, images } = bench.host.state;
  paths.set(attachment.path, 'filled');
  images.set(attachment.path, { sizeBytes: 64 * MiB, content: 'ext4', data: 'of somebody else' });
  await assert.rejects(ask('Publish'), { code: 'FAILED_PRECONDITION', message: /not recorded for volume/ });
  await ask('Unpublish');
  assert.equal(images.get(attachment.path)?.data, 'of somebody else');
});

test('an image that was replaced by a link is neither followed nor removed', async () => {
  const bench = openFakeBench();
  const { ask, agent } = await open(bench);
  await ask('Publish');
  const [{ attachment } = assert.fail()] = agent.records.all();
  const path = attachment.protocol === 'loop' ? attachment.path : assert.fail();
  const { state } = bench.host;
  state.mounts = [];
  state.loops.clear();
  state.paths.set(path, 'link');
  for (const rpc of ['Publish', 'Unpublish'] as const)
    await assert.rejects(ask(rpc), { code: 'FAILED_PRECONDITION', message: /is no longer a file/ });
  assert.equal(state.paths.get(path), 'link');
});

test('nothing but commands, which have a deadline, touches what lies on the disk of ephemeral volumes', async () => {
  const bench = openFakeBench();
  const { agent, directory } = await open(bench);
  const { host } = bench;
  const guard =
    <T>(work: (path: string) => Promise<T>) =>
    async (path: string): Promise<T> => {
      assert.ok(!path.startsWith(directory), `"${path}" is touched by the agent itself`);
      return work(path);
    };
  const { kindOf, makeFile, removeFile, readText } = host;
  const guarded = {
    ...agent,
    host: {
      ...host,
      kindOf: guard(kindOf),
      makeFile: guard(makeFile),
      removeFile: guard(removeFile),
      readText: guard(readText),
    },
  };
  const node = createNode(guarded, { nodeId: 'n', maxVolumes: 0, topology: async () => ({}) });
  for (let i = 0; i < 2; i++) await node.NodePublishVolume?.(requestFor(bench) as never, call);
  await node.NodeUnpublishVolume?.(requestFor(bench) as never, call);
  assertClean(bench);
});

test('an ephemeral volume is never staged, unstaged, or published elsewhere or with another size', async () => {
  const bench = openFakeBench();
  const { ask } = await open(bench);
  await ask('Publish');
  const stagePath = { staging_target_path: `${bench.directory}/stage/v` };
  const loop = { attachmentId: 'a', sizeBytes: '1', readonly: 'false', mayFormat: 'true' };
  const publish_context = { protocol: 'loop', path: bench.makeImage('other'), ...loop };
  const rows = [
    () => ask('Stage', { ...stagePath, publish_context, volume_context: {} }),
    () => ask('Unstage', { staging_target_path: `${bench.directory}/pods/v` }),
    () => ask('Publish', { target_path: `${bench.directory}/pods/w` }),
    () => ask('Unpublish', { target_path: `${bench.directory}/pods/w` }),
  ];
  for (const row of rows) await assert.rejects(row(), { code: 'FAILED_PRECONDITION' });
  const larger = { volume_context: { ...context, size: '33Mi' } };
  await assert.rejects(ask('Publish', larger), { code: 'ALREADY_EXISTS', message: /has 33554432 bytes/ });
  await ask('Unpublish');
});

test('a used ephemeral volume that cannot be mounted again keeps its data until it is unpublished', async () => {
  const bench = openFakeBench();
  const { ask } = await open(bench);
  await ask('Publish');
  const { state } = bench.host;
  // As after a reboot of the node.
  state.mounts = [];
  state.loops.clear();
  const [image] = state.images.values();
  Object.assign(image ?? {}, { content: 'garbage', data: 'precious' });
  await assert.rejects((await open(bench)).ask('Publish'), { code: 'FAILED_PRECONDITION' });
  assert.equal([...state.images.values()][0]?.data, 'precious');
  assert.deepEqual(state.formatted, ['blank']);
  await ask('Unpublish');
  assert.equal(state.images.size, 0);
});

/** What kubelet asks of a volume while a pod has it. */
async function lookAt(agent: Agent, path: string) {
  const node = createNode(agent, { nodeId: 'n', maxVolumes: 0, topology: async () => ({}) });
  const volume = { volume_id: 'csi-0123', staging_target_path: '' };
  const stats = await node.NodeGetVolumeStats?.({ ...volume, volume_path: path }, call);
  const health = await node.NodeGetVolumeHealth?.({ ...volume, volume_publish_path: path } as never, call);
  return { ...stats, ...health };
}

function assertNothingLeft({ directory }: Bench): void {
  assert.deepEqual(mountsBelow(directory), []);
  assert.deepEqual(loopDevicesOf(directory), []);
  for (const name of ['images', 'pods', 'state/volumes'])
    assert.deepEqual(readdirSync(`${directory}/${name}`), []);
}

test(
  'a pod writes to its ephemeral volume, which goes with it, over restarts of the agent',
  real,
  async t => {
    const bench = openRealBench(t);
    const { ask, agent, directory } = await open(bench);
    await ask('Publish', { volume_context: { ...context, 'fs.label': 'scratch' } });
    const target = `${bench.directory}/pods/v`;
    writeFileSync(`${target}/file`, 'data');
    const { usage, volume_health } = await lookAt(agent, target);
    assert.ok(Number(usage?.[0]?.total) > 20 * MiB);
    assert.deepEqual(volume_health?.health_statuses, []);
    const [name] = readdirSync(directory);
    const { size, blocks } = statSync(`${directory}/${name}`);
    assert.deepEqual([size, blocks * 512 >= size], [32 * MiB, true]);
    const after = await open(bench);
    await after.ask('Publish');
    assert.equal(mountsBelow(bench.directory).length, 1);
    assert.equal(readFileSync(`${target}/file`, 'utf8'), 'data');
    for (let i = 0; i < 2; i++) await after.ask('Unpublish');
    assert.equal(existsSync(target), false);
    assertNothingLeft(bench);
  },
);

test(
  'what is left of a pod after a reboot is mounted again with its data, and taken away whole',
  real,
  async t => {
    const bench = openRealBench(t);
    const { ask } = await open(bench);
    await ask('Publish');
    const target = `${bench.directory}/pods/v`;
    writeFileSync(`${target}/file`, 'data');
    execFileSync('umount', ['--detach-loop', '--', target]);
    const after = await open(bench);
    await after.ask('Publish');
    assert.equal(readFileSync(`${target}/file`, 'utf8'), 'data');
    await after.ask('Unpublish');
    assertNothingLeft(bench);
  },
);

test('an ephemeral volume in use elsewhere keeps its image until it is free', real, async t => {
  const bench = openRealBench(t);
  const { ask, agent, directory } = await open(bench);
  await ask('Publish');
  const second = `${bench.directory}/stage`;
  const target = `${bench.directory}/pods/v`;
  execFileSync('mount', ['--bind', '--', target, second]);
  await assert.rejects(unpublish(agent, { volumeId: 'csi-0123', targetPath: target }), {
    code: 'UNAVAILABLE',
  });
  assert.equal(readdirSync(directory).length, 1);
  execFileSync('umount', ['--', second]);
  await ask('Unpublish');
  assertNothingLeft(bench);
});

test('a real disk that is full says so, and leaves nothing', real, async t => {
  const bench = openRealBench(t);
  const pool = mountSmallDisk(bench);
  const { ask } = await open(bench, { directory: pool });
  await assert.rejects(ask('Publish'), {
    code: 'RESOURCE_EXHAUSTED',
    message: /bytes free, less than the 33554432/,
  });
  assert.deepEqual(readdirSync(pool), []);
  assert.deepEqual(readdirSync(`${bench.directory}/state/volumes`), []);
  await ask('Publish', { volume_context: { ...context, size: '8Mi' } });
  await ask('Unpublish');
  assert.deepEqual(readdirSync(pool), []);
});

/** The bench takes it down at its end. */
function mountSmallDisk({ directory }: Bench): string {
  const path = `${directory}/small`;
  mkdirSync(path);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', '--', 'tmpfs', path]);
  return path;
}
