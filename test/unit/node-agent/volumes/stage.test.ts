import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage, unstage, type StageRequest } from '../../../../node-agent/volumes/stage.ts';
import { Crash, type FakeHost } from '../../../fakes/host.ts';
import {
  block,
  openFakeBench,
  openVolume,
  startAgent,
  withCommands,
} from '../../../harness/node-agent-bench.ts';

const open = (content = 'blank') => openVolume(openFakeBench(), { image: { content } });

function assertClean({ state }: FakeHost): void {
  assert.deepEqual(
    { mounts: state.mounts, loops: [...state.loops], records: [...state.texts.keys()] },
    { mounts: [], loops: [], records: [] },
  );
}

test('stage again with the same arguments is fine and changes nothing', async () => {
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
  'another attachment': ({ attachment }) => ({ attachment: { ...attachment, attachmentId: 'attachment-2' } }),
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
  test(`a stage that fails for good, on ${content}, leaves nothing behind`, async () => {
    const { bench, request, agent } = await open(content);
    await assert.rejects(stage(agent, request), { code: 'FAILED_PRECONDITION' });
    assertClean(bench.host);
    assert.deepEqual(bench.host.state.formatted, []);
  });

test('a filesystem on a device is not staged for several nodes that write, but for readers and as a block volume', async () => {
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
    const opened = await openVolume(openFakeBench(), change);
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
    detail: /^"mkfs\.ext4 .*" could not be started: EMFILE$/,
  },
] as const;
for (const { answer, ...error } of failing)
  test(`a command that does not run is named: ${error.detail}`, async () => {
    const { request, agent } = await open();
    const broken = withCommands(agent, command => (command === 'mkfs.ext4' ? answer : undefined));
    await assert.rejects(stage(broken, request), error);
  });

const refusals: Readonly<Record<string, readonly [code: string, Partial<StageRequest>]>> = {
  'filesystem "ntfs" is not one of ext4, xfs, btrfs': [
    'INVALID_ARGUMENT',
    { capability: { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER', fsType: 'ntfs' } },
  ],
  'staging_target_path "/bench/stage/none/v": "/bench/stage/none" is not there': [
    'FAILED_PRECONDITION',
    { stagingPath: '/bench/stage/none/v' },
  ],
};
for (const [detail, [code, change]] of Object.entries(refusals))
  test(`stage is ${code}, and leaves nothing, where ${detail}`, async () => {
    const { bench, request, agent } = await open();
    await assert.rejects(stage(agent, { ...request, ...change }), { code, detail });
    assertClean(bench.host);
  });

test('a record that is lost is made again from what is mounted', async () => {
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

test('a stage that fails for good after the records were lost leaves the device that is in use alone', async () => {
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

test('what was mounted with other options is mounted anew, and never formatted for a mark that was left', async () => {
  const { bench, request, agent } = await open();
  const { state } = bench.host;
  await stage(agent, request);
  const record = agent.records.get('c.v');
  const { identity = '', sizeBytes = 0 } = record?.device ?? {};
  assert.ok(record);
  await agent.records.put({ ...record, formatting: { attachmentId: 'attachment-1', identity, sizeBytes } });
  state.mounts = state.mounts.map(mount => ({ ...mount, options: ['ro'] }));
  // It cannot be read.
  state.extra.set('blkid', () => 2);
  await assert.rejects(stage(agent, request), { code: 'FAILED_PRECONDITION', detail: /is not blank/ });
  assert.deepEqual(state.formatted, ['blank']);
  state.extra.clear();
  await stage(agent, request);
  assert.deepEqual(state.formatted, ['blank']);
});

test('a block volume that was mounted by hand at its staging path is left as it is', async () => {
  const { bench, request, agent } = await open('ext4');
  const asked = { ...request, capability: block };
  await stage(agent, asked);
  await bench.host.makeDirectory(request.stagingPath);
  await bench.host.run('mount', ['-t', 'ext4', '--', '/dev/loop0', request.stagingPath]);
  const [mount] = bench.host.state.mounts;
  assert.ok(mount);
  await assert.rejects(stage(agent, asked), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(bench.host.state.mounts, [mount]);
});

test('a volume that is mounted anew after its unmount was refused keeps its device until it is unstaged', async () => {
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

test('a device that cannot be released beside the unmount is released after it', async () => {
  const { bench, request, agent } = await open('ext4');
  await stage(agent, request);
  const refusing = withCommands(agent, (command, args) => {
    const isMounted = bench.host.state.mounts.length > 0;
    return command === 'losetup' && args.includes('--detach') && isMounted ? { status: 1 } : undefined;
  });
  await unstage(refusing, request);
  assertClean(bench.host);
});

test('unstage at another path names the path at which the volume is staged', async () => {
  const { request, agent } = await open();
  await stage(agent, request);
  await assert.rejects(unstage(agent, { ...request, stagingPath: `${request.stagingPath}-other` }), {
    code: 'FAILED_PRECONDITION',
    detail: `volume "c.v" is staged at "${request.stagingPath}" and not at "${request.stagingPath}-other"`,
  });
});

test('a filesystem that an interrupted mkfs left unfinished is explained, and made again once it is wiped', async () => {
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

test('what a pod wrote to a block volume is never formatted for an interrupted mkfs, by another agent neither', async () => {
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
