import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage, unstage, type StageRequest } from '../../../../node-agent/volumes/stage.ts';
import { Crash, type FakeHost } from '../../../fakes/host.ts';
import {
  block,
  openFakeBench,
  openNode,
  startAgent,
  startWithoutRecords,
  withCommands,
} from '../../../harness/node.ts';

const open = (content = 'blank') => openNode(openFakeBench(), { image: { content } });

function assertClean({ state }: FakeHost): void {
  assert.deepEqual(
    { mounts: state.mounts, loops: [...state.loops], records: [...state.texts.keys()] },
    { mounts: [], loops: [], records: [] },
  );
}

test('stage again with the same arguments succeeds and changes nothing', async () => {
  const { bench, request, agent } = await open();
  await stage(agent, request);
  const { mounts } = bench.host.state;
  await stage(agent, request);
  assert.deepEqual(bench.host.state.mounts, mounts);
  assert.deepEqual(bench.host.state.formatted, ['blank']);
});

const changes: Readonly<Record<string, (request: StageRequest) => Partial<StageRequest>>> = {
  'another filesystem': ({ capability }) => ({ capability: { ...capability, fsType: 'xfs' } }),
  'another access mode': ({ capability }) => ({
    capability: { ...capability, accessMode: 'SINGLE_NODE_MULTI_WRITER' },
  }),
  'other mount flags': ({ capability }) => ({ capability: { ...capability, mountFlags: ['noatime'] } }),
  'block access': () => ({ capability: block }),
  'another path': ({ stagingPath }) => ({ stagingPath: `${stagingPath}-other` }),
  'a read-only attachment': ({ attachment }) => ({ attachment: { ...attachment, readonly: true } }),
};

for (const [name, change] of Object.entries(changes)) {
  test(`stage of a staged volume with ${name} is ALREADY_EXISTS`, async () => {
    const { request, agent } = await open();
    await stage(agent, request);
    await assert.rejects(stage(agent, { ...request, ...change(request) }), { code: 'ALREADY_EXISTS' });
    await unstage(agent, request);
  });
}

for (const content of ['garbage', 'xfs', 'swap', 'gpt'])
  test(`a stage that fails finally, on ${content}, leaves nothing behind`, async () => {
    const { bench, request, agent } = await open(content);
    await assert.rejects(stage(agent, request), { code: 'FAILED_PRECONDITION' });
    assertClean(bench.host);
    assert.deepEqual(bench.host.state.formatted, []);
  });

test('a filesystem on a device is refused for several writing nodes, but staged for readers and as a block volume', async () => {
  const accessMode = 'MULTI_NODE_MULTI_WRITER';
  const { bench, request, agent } = await open();
  for (const fsType of ['ext4', 'xfs', 'btrfs', undefined]) {
    const capability = { accessType: 'mount', accessMode, ...(fsType && { fsType }) } as const;
    await assert.rejects(stage(agent, { ...request, capability }), { code: 'INVALID_ARGUMENT' });
    assertClean(bench.host);
    assert.deepEqual(bench.host.state.formatted, []);
  }
  const fine = [
    { image: { content: 'ext4' }, attachment: { readonly: true }, capability: { accessMode } },
    { image: { content: 'ext4' }, capability: { accessMode: 'MULTI_NODE_READER_ONLY' } },
    { capability: { ...block, accessMode } },
  ] as const;
  for (const change of fine) {
    const opened = await openNode(openFakeBench(), change);
    await stage(opened.agent, opened.request);
  }
});

const failing = [
  {
    answer: { fault: 'ENOENT' },
    code: 'FAILED_PRECONDITION',
    detail: '"mkfs.ext4" is not installed on this node',
  },
  {
    answer: { fault: 'EMFILE' },
    code: 'UNAVAILABLE',
    detail: /^"mkfs\.ext4 .*" could not be started: this process has too many open files$/,
  },
] as const;
for (const { answer, ...error } of failing)
  test(`the error names a command that cannot run: ${error.detail}`, async () => {
    const { request, agent } = await open();
    const broken = withCommands(agent, command => (command === 'mkfs.ext4' ? answer : undefined));
    await assert.rejects(stage(broken, request), error);
  });

const refusals: Readonly<Record<string, readonly [code: string, Partial<StageRequest>]>> = {
  'filesystem "ntfs" is not one of ext4, xfs, btrfs': [
    'INVALID_ARGUMENT',
    { capability: { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER', fsType: 'ntfs' } },
  ],
  'staging_target_path "/bench/stage/none/v": the directory "/bench/stage/none" does not exist': [
    'FAILED_PRECONDITION',
    { stagingPath: '/bench/stage/none/v' },
  ],
};
for (const [detail, [code, change]] of Object.entries(refusals))
  test(`stage is ${code} and leaves nothing if ${detail}`, async () => {
    const { bench, request, agent } = await open();
    await assert.rejects(stage(agent, { ...request, ...change }), { code, detail });
    assertClean(bench.host);
  });

test('a lost record is made again from the mount', async () => {
  const { bench, request, agent } = await open();
  await stage(agent, request);
  bench.host.state.texts.clear();
  for (const path of bench.host.state.paths.keys())
    if (path.endsWith('.json')) bench.host.state.paths.delete(path);
  const another = await startAgent(bench);
  await assert.rejects(unstage(another, request), { code: 'FAILED_PRECONDITION' });
  await stage(another, request);
  await unstage(another, request);
  assertClean(bench.host);
});

test('a stage that fails finally after the records were lost leaves the device in use alone', async () => {
  const { request, agent } = await open();
  await stage(agent, request);
  await agent.records.remove(request.volumeId);
  let isDetached = false;
  const watched = withCommands(agent, (_, args) => {
    isDetached ||= args.includes('--detach');
    return undefined;
  });
  const capability = { ...request.capability, fsType: 'xfs' };
  const elsewhere = { ...request, stagingPath: `${request.stagingPath}-other`, capability };
  await assert.rejects(stage(watched, elsewhere), { code: 'FAILED_PRECONDITION', detail: /holds ext4/ });
  assert.equal(isDetached, false);
});

test('a filesystem that is mounted with other options is mounted anew, and never formatted because of an old mark', async () => {
  const { bench, request, agent } = await open();
  const { state } = bench.host;
  await stage(agent, request);
  const record = agent.records.get('c.v');
  const { identity = '', sizeBytes = 0 } = record?.device ?? {};
  assert.ok(record);
  await agent.records.put({ ...record, formatting: { attachmentId: 'attachment-1', identity, sizeBytes } });
  state.mounts = state.mounts.map(mount => ({ ...mount, options: ['ro'] }));
  // The device cannot be read.
  state.extra.set('blkid', () => 2);
  await assert.rejects(stage(agent, request), { code: 'FAILED_PRECONDITION', detail: /is not blank/ });
  assert.deepEqual(state.formatted, ['blank']);
  state.extra.clear();
  await stage(agent, request);
  assert.deepEqual(state.formatted, ['blank']);
});

test('a block volume that was mounted by hand at its staging path is left alone', async () => {
  const { bench, request, agent } = await open('ext4');
  const asked = { ...request, capability: block };
  await stage(agent, asked);
  await bench.host.createDirectory(request.stagingPath);
  await bench.host.run('mount', ['-t', 'ext4', '--', '/dev/loop0', request.stagingPath]);
  const [mount] = bench.host.state.mounts;
  assert.ok(mount);
  await assert.rejects(stage(agent, asked), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(bench.host.state.mounts, [mount]);
});

test('the next stage writes the copy of a block volume that could not be written, and finds the volume by it', async () => {
  const { bench, request, agent } = await open();
  const asked = { ...request, capability: block };
  const writeDurably: FakeHost['writeDurably'] = async (path, text) => {
    await bench.host.writeDurably(path.startsWith(request.stagingPath) ? `${path}.tmp` : path, text);
    if (path.startsWith(request.stagingPath)) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
  };
  const full = { ...agent, host: { ...agent.host, writeDurably } };
  await assert.rejects(stage(full, asked), { code: 'UNAVAILABLE', detail: /: it is on a full disk$/ });
  await stage(agent, asked);
  await unstage(await startWithoutRecords(bench), asked);
  assertClean(bench.host);
  assert.deepEqual(await bench.host.list(request.stagingPath), []);
});

test('the copy of a block volume does not restore the mark of an interrupted mkfs', async () => {
  const { bench, request, agent } = await open();
  const crashing = withCommands(agent, command => {
    if (command === 'mkfs.ext4') throw new Crash('the agent ended here');
    return undefined;
  });
  await assert.rejects(stage(crashing, request), Crash);
  await stage(await startAgent(bench), { ...request, capability: block });
  Object.assign(bench.host.state.images.get(request.attachment.path) ?? {}, { content: 'garbage' });
  const forgetful = await startWithoutRecords(bench);
  await unstage(forgetful, request);
  await assert.rejects(stage(forgetful, request), { code: 'FAILED_PRECONDITION', detail: /is not blank/ });
  assert.deepEqual(bench.host.state.formatted, []);
});

test('a volume that is mounted anew after a refused unmount keeps its device until it is unstaged', async () => {
  const { bench, request, agent } = await open('ext4');
  const { state } = bench.host;
  await stage(agent, request);
  state.extra.set('umount', () => 32);
  await assert.rejects(unstage(agent, request), { code: 'UNAVAILABLE' });
  state.extra.clear();
  state.mounts = state.mounts.map(mount => ({ ...mount, options: ['ro'] }));
  await stage(agent, request);
  assert.equal(state.mounts.length, 1);
  await unstage(agent, request);
  assertClean(bench.host);
});

test('a device that cannot be released during the unmount is released afterwards', async () => {
  const { bench, request, agent } = await open('ext4');
  await stage(agent, request);
  const refusing = withCommands(agent, (command, args) => {
    const isMounted = bench.host.state.mounts.length > 0;
    return command === 'losetup' && args.includes('--detach') && isMounted ? { status: 1 } : undefined;
  });
  await unstage(refusing, request);
  assertClean(bench.host);
});

test('unstage at another path names the path where the volume is staged', async () => {
  const { request, agent } = await open();
  await stage(agent, request);
  await assert.rejects(unstage(agent, { ...request, stagingPath: `${request.stagingPath}-other` }), {
    code: 'FAILED_PRECONDITION',
    detail: `volume "c.v" is staged at "${request.stagingPath}" and not at "${request.stagingPath}-other"`,
  });
});

test('the error explains a filesystem that an interrupted mkfs left unfinished, and it is made again once wiped', async () => {
  const { bench, request, agent } = await open();
  const image = bench.host.state.images.get(request.attachment.path) ?? assert.fail();
  const crashing = withCommands(agent, command => {
    if (command !== 'mkfs.ext4') return undefined;
    Object.assign(image, { content: 'ext4', unfinished: true });
    throw new Crash('the agent ended here');
  });
  await assert.rejects(stage(crashing, request), Crash);
  const restarted = await startAgent(bench);
  for (let i = 0; i < 2; i++)
    await assert.rejects(stage(restarted, request), {
      code: 'UNAVAILABLE',
      detail: /may have left it unfinished/,
    });
  image.content = 'blank';
  await stage(restarted, request);
  await unstage(restarted, request);
  assertClean(bench.host);
});

test("a pod's data on a block volume is never formatted because of an interrupted mkfs, by another agent neither", async () => {
  const { bench, request, agent } = await open();
  const image = bench.host.state.images.get(request.attachment.path) ?? assert.fail();
  const crashing = withCommands(agent, command => {
    if (command === 'mkfs.ext4') throw new Crash('the agent ended here');
    return undefined;
  });
  await assert.rejects(stage(crashing, request), Crash);
  await stage(await startAgent(bench), { ...request, capability: block });
  image.content = 'garbage';
  const restarted = await startAgent(bench);
  await unstage(restarted, request);
  await assert.rejects(stage(restarted, request), { code: 'FAILED_PRECONDITION', detail: /is not blank/ });
  assert.deepEqual(bench.host.state.formatted, []);
});
