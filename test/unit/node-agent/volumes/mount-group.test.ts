import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import { publishEphemeral } from '../../../../node-agent/volumes/ephemeral.ts';
import { readGroup } from '../../../../node-agent/volumes/mount-group.ts';
import { createNode } from '../../../../node-agent/node.ts';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import type { AccessMode } from '../../../../src/api/resources.ts';
import type { UnaryCall } from '../../../../src/csi/unary.ts';
import {
  MiB,
  openFakeBench,
  openRealBench,
  requestFor,
  startAgent,
  whyNoMachine,
  type Bench,
} from '../../../harness/node-agent-bench.ts';
import { ephemeralRequest, openEphemeral } from '../../../harness/node-agent-ephemeral-bench.ts';

const real = whyNoMachine ? { skip: whyNoMachine } : {};
const call: UnaryCall = { deadlineMs: 0, requestId: 'r', signal: new AbortController().signal };
const group = 42_424;

async function openStaged(bench: Bench, accessMode: AccessMode = 'SINGLE_NODE_MULTI_WRITER') {
  const base = requestFor(bench, bench.makeImage('image', { content: 'ext4' }));
  const capability = { ...base.capability, accessMode };
  const request = { ...base, capability, group };
  const agent = await startAgent(bench);
  await stage(agent, request);
  return { request, agent };
}

/** Files as a workload that ran as root may have left them. */
function fill({ directory }: Bench): string {
  const root = `${directory}/stage/v`;
  mkdirSync(`${root}/deep/er`, { recursive: true, mode: 0o700 });
  writeFileSync(`${root}/deep/er/-rf`, 'data', { mode: 0o600 });
  writeFileSync(`${root}/tool`, '#!/bin/sh', { mode: 0o700 });
  writeFileSync(`${directory}/outside`, '', { mode: 0o600 });
  symlinkSync(`${directory}/outside`, `${root}/link`);
  return root;
}

function ownerOf(path: string): readonly [number, string] {
  const { gid, mode } = statSync(path);
  return [gid, (mode & 0o7777).toString(8)];
}

/** What somebody who is not root and has no group but this may do. */
function runInGroup(gid: number, ...command: readonly string[]): string {
  const args = ['--reuid=4242', `--regid=${gid}`, '--clear-groups', '--', ...command];
  return execFileSync('setpriv', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

test('a volume is given to the group of its pod, which reads, writes and owns what comes', real, async t => {
  const bench = openRealBench(t);
  const { agent, request } = await openStaged(bench);
  const root = fill(bench);
  await publish(agent, request);
  assert.deepEqual(ownerOf(root), [group, '2775']);
  assert.deepEqual(ownerOf(`${root}/deep/er`), [group, '2770']);
  assert.deepEqual(ownerOf(`${root}/deep/er/-rf`), [group, '660']);
  assert.deepEqual(ownerOf(`${root}/tool`), [group, '760']);
  assert.deepEqual(ownerOf(`${bench.directory}/outside`), [0, '600']);
  // The test's own directory keeps others out, but not the pod's target below it.
  chmodSync(bench.directory, 0o755);
  const target = request.targetPath;
  assert.equal(runInGroup(group, 'cat', '--', `${target}/deep/er/-rf`), 'data');
  runInGroup(group, 'touch', '--', `${target}/deep/new`);
  assert.equal(statSync(`${root}/deep/new`).gid, group);
  assert.throws(() => runInGroup(group + 1, 'cat', '--', `${target}/deep/er/-rf`));
  await unpublish(agent, request);
  await unstage(agent, request);
});

test('a volume whose root has the group is not gone through again', real, async t => {
  const bench = openRealBench(t);
  const { agent, request } = await openStaged(bench);
  const root = fill(bench);
  await publish(agent, request);
  writeFileSync(`${root}/later`, '', { mode: 0o600 });
  await publish(agent, { ...request, targetPath: `${request.targetPath}-2` });
  assert.equal(ownerOf(`${root}/later`)[1], '600');
  for (const path of [request.targetPath, `${request.targetPath}-2`])
    await unpublish(agent, { ...request, targetPath: path });
  await unstage(agent, request);
});

test('another group for a path that is published is ALREADY_EXISTS, after a restart too', real, async t => {
  const bench = openRealBench(t);
  const { agent, request } = await openStaged(bench);
  const root = fill(bench);
  await publish(agent, request);
  for (const again of [agent, await startAgent(bench)]) {
    await publish(again, request);
    await assert.rejects(publish(again, { ...request, group: group + 1 }), {
      code: 'ALREADY_EXISTS',
      detail: /pods\/v": volume_mount_group is 42424 and not 42425/,
    });
    assert.deepEqual(ownerOf(`${root}/deep/er/-rf`), [group, '660']);
  }
  await unpublish(agent, request);
  await unstage(agent, request);
});

test('a group that is asked for once a path is published already is given', real, async t => {
  const bench = openRealBench(t);
  const { agent, request } = await openStaged(bench);
  const { group: _, ...plain } = request;
  const root = fill(bench);
  await publish(agent, plain);
  await publish(agent, request);
  assert.deepEqual(ownerOf(`${root}/deep/er/-rf`), [group, '660']);
  await publish(agent, plain);
  await unpublish(agent, request);
  await unstage(agent, request);
});

test('another group for an ephemeral volume that is published is ALREADY_EXISTS', real, async t => {
  const bench = openRealBench(t);
  const { agent } = await openEphemeral(bench);
  const { volume_id: volumeId, target_path: targetPath } = ephemeralRequest(bench);
  const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER', fsType: 'ext4' } as const;
  const request = { volumeId, targetPath, capability, readonly: false, sizeBytes: 32 * MiB };
  await publishEphemeral(agent, request);
  for (let times = 0; times < 2; times++) await publishEphemeral(agent, { ...request, group });
  await publishEphemeral(agent, request);
  assert.deepEqual(ownerOf(targetPath), [group, '2775']);
  await publishEphemeral(agent, { ...request, group });
  await assert.rejects(publishEphemeral(agent, { ...request, group: group + 1 }), {
    code: 'ALREADY_EXISTS',
    detail: /volume_mount_group is 42424 and not 42425/,
  });
  assert.deepEqual(ownerOf(targetPath), [group, '2775']);
  await unpublish(agent, request);
});

test(
  'files in use by one group are not taken from it for another, but are once it is gone',
  real,
  async t => {
    const bench = openRealBench(t);
    const { agent, request } = await openStaged(bench);
    const root = fill(bench);
    await publish(agent, request);
    const second = { ...request, targetPath: `${request.targetPath}-2`, group: group + 1 };
    await assert.rejects(publish(agent, second), {
      code: 'FAILED_PRECONDITION',
      detail: /pods\/v" with its files owned by group 42424, and cannot be given to group 42425/,
    });
    await unpublish(agent, request);
    await publish(agent, second);
    assert.deepEqual(ownerOf(`${root}/deep/er/-rf`), [group + 1, '660']);
    await unpublish(agent, second);
    await unstage(agent, request);
  },
);

test('what is read-only, or used by several nodes, keeps its owners', real, async t => {
  const rows = [
    { change: { readonly: true }, accessMode: 'SINGLE_NODE_MULTI_WRITER' },
    { change: {}, accessMode: 'MULTI_NODE_SINGLE_WRITER' },
    { change: {}, accessMode: 'SINGLE_NODE_READER_ONLY' },
  ] as const;
  for (const { change, accessMode } of rows) {
    const bench = openRealBench(t);
    const { agent, request } = await openStaged(bench, accessMode);
    await publish(agent, { ...request, ...change });
    assert.deepEqual(ownerOf(`${bench.directory}/stage/v`), [0, '755']);
    await unpublish(agent, request);
    await unstage(agent, request);
  }
});

test('a change of owners that is cut short goes on when the volume is published again', real, async t => {
  const bench = openRealBench(t);
  const { agent, request } = await openStaged(bench);
  const root = fill(bench);
  const killed = { status: undefined, stdout: '', stderr: '', timedOut: true, missing: false };
  for (const command of ['find', 'chmod', 'chgrp']) {
    const run: Agent['host']['run'] = async (name, args, options) => {
      const result = await agent.host.run(name, args, options);
      return name === command ? killed : result;
    };
    await assert.rejects(publish({ ...agent, host: { ...agent.host, run } }, request), {
      code: 'DEADLINE_EXCEEDED',
    });
    execFileSync('chown', ['--recursive', 'root:root', '--', `${root}/deep`]);
    if (command === 'chgrp') execFileSync('chgrp', ['root', '--', root]);
  }
  await publish(agent, request);
  assert.deepEqual(ownerOf(`${root}/deep/er/-rf`), [group, '660']);
  assert.equal(readFileSync(`${root}/deep/er/-rf`, 'utf8'), 'data');
  await unpublish(agent, request);
  await unstage(agent, request);
});

const groups = { 0: 0, '1000': 1_000, '4294967294': 4_294_967_294 };
for (const [text, number] of Object.entries(groups))
  test(`the group "${text}" is read`, () => assert.equal(readGroup(text), number));

for (const text of ['', '-1', '1000 ', 'users', '4294967295', '1e3', '--help'])
  test(`the group ${JSON.stringify(text)} is INVALID_ARGUMENT`, () => {
    assert.throws(() => readGroup(text), { code: 'INVALID_ARGUMENT' });
  });

test('a group is refused, and VOLUME_MOUNT_GROUP not advertised, unless the agent is set to do it', async () => {
  for (const offersGroup of [false, true]) {
    const bench = openFakeBench();
    const identity = { nodeId: 'n', maxVolumes: 0, topology: async () => ({}), offersGroup };
    const node = createNode(await startAgent(bench), identity);
    const answer = await node.NodeGetCapabilities?.({} as never, call);
    const types = answer?.capabilities?.map(({ rpc }) => rpc?.type);
    assert.equal(types?.includes('VOLUME_MOUNT_GROUP'), offersGroup);
    const mount = { fs_type: 'ext4', mount_flags: [], volume_mount_group: offersGroup ? 'users' : '1000' };
    const request = {
      volume_id: 'c.v',
      target_path: `${bench.directory}/pods/v`,
      volume_capability: { access_type: 'mount', mount, access_mode: { mode: 'SINGLE_NODE_WRITER' } },
      volume_context: {},
    };
    await assert.rejects(async () => node.NodePublishVolume?.(request as never, call), {
      code: 'INVALID_ARGUMENT',
      message: offersGroup ? /"users" is not the number of a group/ : /does not offer/,
    });
  }
});
