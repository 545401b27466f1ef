import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unavailableProblem } from '../../../../src/api/problem.ts';
import type { AccessMode } from '../../../../src/api/storage.ts';
import { publish, unpublish, type PublishRequest } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { openFakeBench, openNode, otherVolume, startAgent } from '../../../harness/node.ts';

type AccessType = 'mount' | 'block';
const accessTypes: readonly AccessType[] = ['mount', 'block'];
const refused = { code: 'FAILED_PRECONDITION' };

async function openStaged(accessMode: AccessMode = 'SINGLE_NODE_WRITER', accessType: AccessType = 'mount') {
  const image = { content: 'ext4' };
  const opened = await openNode(openFakeBench(), { image, capability: { accessType, accessMode } });
  await stage(opened.agent, opened.request);
  const second = { ...opened.request, targetPath: `${opened.request.targetPath}-2` };
  return { ...opened, second };
}

test('publish of a volume that is not staged, or is staged at another path, is FAILED_PRECONDITION', async () => {
  const { request, agent } = await openStaged();
  const elsewhere = { ...request, stagingPath: `${request.stagingPath}-other` };
  await assert.rejects(publish(agent, elsewhere), {
    ...refused,
    detail: `volume "c.v" is not staged at "${elsewhere.stagingPath}"`,
  });
  await assert.rejects(publish(agent, { ...request, volumeId: 'c.unknown' }), refused);
});

test('publish again with the same arguments succeeds and mounts nothing more', async () => {
  for (const accessType of accessTypes) {
    const { bench, request, agent } = await openStaged('SINGLE_NODE_WRITER', accessType);
    await publish(agent, request);
    const count = bench.host.state.mounts.length;
    await publish(agent, request);
    assert.equal(bench.host.state.mounts.length, count);
  }
});

const changes: Readonly<Record<string, (request: PublishRequest) => Partial<PublishRequest>>> = {
  readonly: () => ({ readonly: true }),
  'another filesystem': ({ capability }) => ({ capability: { ...capability, fsType: 'xfs' } }),
  'other mount flags': ({ capability }) => ({ capability: { ...capability, mountFlags: ['noexec'] } }),
  'another access mode': ({ capability }) => ({
    capability: { ...capability, accessMode: 'MULTI_NODE_MULTI_WRITER' },
  }),
};

for (const [name, change] of Object.entries(changes)) {
  test(`publish at a published path with ${name} is ALREADY_EXISTS`, async () => {
    const { request, agent } = await openStaged();
    await publish(agent, request);
    await assert.rejects(publish(agent, { ...request, ...change(request) }), { code: 'ALREADY_EXISTS' });
  });
}

const modes: Readonly<Record<AccessMode, 'OK' | 'FAILED_PRECONDITION'>> = {
  SINGLE_NODE_WRITER: 'FAILED_PRECONDITION',
  SINGLE_NODE_SINGLE_WRITER: 'FAILED_PRECONDITION',
  SINGLE_NODE_READER_ONLY: 'FAILED_PRECONDITION',
  SINGLE_NODE_MULTI_WRITER: 'OK',
  MULTI_NODE_READER_ONLY: 'OK',
  MULTI_NODE_SINGLE_WRITER: 'OK',
  MULTI_NODE_MULTI_WRITER: 'OK',
};

for (const [mode, outcome] of Object.entries(modes)) {
  const types = mode === 'MULTI_NODE_MULTI_WRITER' ? (['block'] as const) : accessTypes;
  for (const accessType of types) {
    test(`publish of a ${accessType} volume at a second path is ${outcome} for ${mode}`, async () => {
      const opened = await openStaged(mode as AccessMode, accessType);
      const { agent } = opened;
      const readonly = mode.endsWith('READER_ONLY');
      const first = { ...opened.request, readonly };
      const second = { ...opened.second, readonly };
      await publish(agent, first);
      if (outcome !== 'OK') {
        const detail = new RegExp(`${mode} allows one path`);
        await assert.rejects(publish(agent, second), { code: outcome, detail });
        await publish(agent, first);
        await unpublish(agent, first);
      }
      await publish(agent, second);
    });
  }
}

for (const accessType of accessTypes)
  for (const mode of ['SINGLE_NODE_WRITER', 'SINGLE_NODE_SINGLE_WRITER', 'SINGLE_NODE_MULTI_WRITER'] as const)
    test(`a lost record gives a ${accessType} volume in mode ${mode} no additional path`, async () => {
      const { bench, request, agent, second } = await openStaged(mode, accessType);
      await publish(agent, request);
      await agent.records.remove(request.volumeId);
      const next = await startAgent(bench);
      await stage(next, request);
      if (mode !== 'SINGLE_NODE_MULTI_WRITER') {
        await assert.rejects(publish(next, second), refused);
        await publish(next, request);
        await unpublish(next, request);
      }
      await publish(next, second);
    });

test("a pod's mounts from its path, such as a subPath, are no second path, but exclude another pod", async () => {
  const { bench, request, agent, second } = await openStaged('SINGLE_NODE_SINGLE_WRITER');
  await publish(agent, request);
  const subPath = `${bench.directory}/pods/subpath`;
  await bench.host.createDirectory(subPath);
  await bench.host.run('mount', ['--bind', '--', request.targetPath, subPath]);
  await publish(agent, request);
  await unpublish(agent, request);
  const detail = `volume "c.v" is already published at "${subPath}", and SINGLE_NODE_SINGLE_WRITER allows one path`;
  await assert.rejects(publish(agent, second), { ...refused, detail });
});

test('a volume for readers only is read-only in the kernel, however it is published', async () => {
  for (const accessType of accessTypes) {
    for (const mode of ['SINGLE_NODE_READER_ONLY', 'MULTI_NODE_READER_ONLY'] as const) {
      const { bench, request, agent } = await openStaged(mode, accessType);
      await publish(agent, request);
      const loops = [...bench.host.state.loops.values()].map(({ readonly }) => readonly);
      assert.deepEqual(loops, [true]);
    }
  }
});

test('an interrupted read-only publish is finished, and does not count as done', async () => {
  const { bench, request, agent } = await openStaged();
  const readonly = { ...request, readonly: true };
  await publish(agent, readonly);
  await bench.host.run('umount', ['--', request.targetPath]);
  await bench.host.run('mount', ['--bind', '--', request.stagingPath, request.targetPath]);
  await publish(agent, readonly);
  const mounts = bench.host.state.mounts.filter(({ path }) => path === request.targetPath);
  const shown = mounts.map(({ options }) => options);
  assert.deepEqual(shown, [['ro']]);
});

test('a writable block volume is published read-only through a device that refuses writes', async () => {
  const { bench, request, agent } = await openStaged('SINGLE_NODE_WRITER', 'block');
  const reading = { ...request, readonly: true };
  await publish(agent, reading);
  await publish(agent, reading);
  const loops = [...bench.host.state.loops.values()].map(({ backing, readonly }) => ({ backing, readonly }));
  assert.deepEqual(loops, [
    { backing: request.attachment.path, readonly: false },
    { backing: '/dev/loop0', readonly: true },
  ]);
  await assert.rejects(publish(agent, request), { code: 'ALREADY_EXISTS' });
  await assert.rejects(unstage(agent, request), { ...refused, detail: /still published/ });
  await unpublish(agent, reading);
  assert.deepEqual([...bench.host.state.loops.keys()], [0]);
  await unstage(agent, request);
  assert.deepEqual([...bench.host.state.loops.keys()], []);
});

test('a file as the target is refused for a filesystem, and a directory for a block volume', async () => {
  for (const accessType of accessTypes) {
    const { bench, request, agent } = await openStaged('SINGLE_NODE_WRITER', accessType);
    await (accessType === 'mount'
      ? bench.host.createFile(request.targetPath)
      : bench.host.createDirectory(request.targetPath));
    await assert.rejects(publish(agent, request), refused);
  }
});

test("publish does not cover another volume's mount", async () => {
  const { bench, request, agent } = await openStaged();
  const other = { ...otherVolume(bench, request, { content: 'ext4' }), targetPath: request.targetPath };
  await stage(agent, other);
  await publish(agent, other);
  await assert.rejects(publish(agent, request), { ...refused, detail: /is not volume "c.v"/ });
});

test("a reader's view of a block volume that cannot be recorded is removed again", async () => {
  const { agent, bench, request } = await openStaged('SINGLE_NODE_WRITER', 'block');
  const { loops } = bench.host.state;
  const noteTarget: typeof agent.records.noteTarget = async (volumeId, target) => {
    if (target.view) throw unavailableProblem('the disk is full');
    await agent.records.noteTarget(volumeId, target);
  };
  const full = { ...agent, records: { ...agent.records, noteTarget } };
  const reader = { ...request, readonly: true };
  for (let tries = 0; tries < 5; tries++) {
    await assert.rejects(publish(full, reader), { code: 'UNAVAILABLE', detail: 'the disk is full' });
    assert.equal(loops.size, 1);
  }
  await publish(agent, reader);
  assert.equal(loops.size, 2);
});
