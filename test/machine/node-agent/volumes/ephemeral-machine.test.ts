import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import { createNode } from '../../../../node-agent/node.ts';
import { unpublish } from '../../../../node-agent/volumes/publish.ts';
import { loopDevicesOf, mountsBelow } from '../../../harness/machine.ts';
import { MiB, openRealBench, whyNoMachine, type Bench } from '../../../harness/node-agent-bench.ts';
import { call, context, openEphemeral } from '../../../harness/node-agent-ephemeral-bench.ts';

const real = whyNoMachine ? { skip: whyNoMachine } : {};

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
    const { ask, agent, directory } = await openEphemeral(bench);
    await ask('Publish', { volume_context: { ...context, 'fs.label': 'scratch' } });
    const target = `${bench.directory}/pods/v`;
    writeFileSync(`${target}/file`, 'data');
    const { usage, volume_health } = await lookAt(agent, target);
    assert.ok(Number(usage?.[0]?.total) > 20 * MiB);
    assert.deepEqual(volume_health?.health_statuses, []);
    const [name] = readdirSync(directory);
    const { size, blocks } = statSync(`${directory}/${name}`);
    assert.deepEqual([size, blocks * 512 >= size], [32 * MiB, true]);
    const after = await openEphemeral(bench);
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
    const { ask } = await openEphemeral(bench);
    await ask('Publish');
    const target = `${bench.directory}/pods/v`;
    writeFileSync(`${target}/file`, 'data');
    execFileSync('umount', ['--detach-loop', '--', target]);
    const after = await openEphemeral(bench);
    await after.ask('Publish');
    assert.equal(readFileSync(`${target}/file`, 'utf8'), 'data');
    await after.ask('Unpublish');
    assertNothingLeft(bench);
  },
);

test('an ephemeral volume in use elsewhere keeps its image until it is free', real, async t => {
  const bench = openRealBench(t);
  const { ask, agent, directory } = await openEphemeral(bench);
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
  const { ask } = await openEphemeral(bench, { directory: pool });
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
