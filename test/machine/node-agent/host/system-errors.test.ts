import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { createNode } from '../../../../node-agent/node.ts';
import { toPublishContext } from '../../../../src/api/attachment.ts';
import { Problem } from '../../../../src/api/problem.ts';
import type { UnaryCall } from '../../../../src/csi/call.ts';
import {
  openFakeBench,
  openRealBench,
  requestFor,
  startAgent,
  whyNoMachine,
  type Bench,
} from '../../../harness/node-agent-bench.ts';

const call: UnaryCall = { deadlineMs: 0, requestId: 'r', signal: new AbortController().signal };
const rpcs = ['NodeStageVolume', 'NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume'] as const;
type Rpc = (typeof rpcs)[number];

async function open(bench: Bench) {
  const image = bench.makeImage('image', { content: 'ext4' });
  const { attachment, stagingPath, targetPath, volumeId } = requestFor(bench, image);
  const identity = { nodeId: 'n1', maxVolumes: 0, topology: async () => ({}) };
  const node = createNode(await startAgent(bench), identity);
  const request = {
    volume_id: volumeId,
    publish_context: toPublishContext(attachment),
    staging_target_path: stagingPath,
    target_path: targetPath,
    volume_capability: {
      access_type: 'mount' as const,
      mount: { fs_type: 'ext4', mount_flags: [], volume_mount_group: '' },
      block: null,
      access_mode: { mode: 'SINGLE_NODE_WRITER' as const },
    },
    readonly: false,
    secrets: {},
    volume_context: {},
  };
  return { targetPath, ask: async (rpc: Rpc): Promise<unknown> => node[rpc]?.(request as never, call) };
}

test('whatever step of a call the system refuses, the answer says which, and the retry succeeds', async () => {
  const said = new Set<string>();
  for (let step = 1, isPast = false; !isPast; step++) {
    const bench = openFakeBench();
    const { host } = bench;
    const { ask } = await open(bench);
    host.failAt({ step, when: 'before', how: 'error' });
    for (const rpc of rpcs) {
      const error: unknown = await ask(rpc).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error === undefined) continue;
      const syscall =
        error instanceof Problem && /^"(\w+)" of "\/\S+" failed on this node: EIO$/.exec(error.detail);
      if (syscall) said.add(syscall[1] ?? '');
      // What is mounted cannot be read: the fake error has no path then.
      assert.ok(error instanceof Problem || (error as NodeJS.ErrnoException).path === undefined);
      await ask(rpc);
    }
    isPast = host.steps < step;
  }
  for (const syscall of ['mkdir', 'rmdir', 'unlink', 'lstat', 'open']) assert.ok(said.has(syscall), syscall);
});

const real = whyNoMachine ? { skip: whyNoMachine } : {};

/** What a call says while nobody may change what is in a directory. */
async function sayFrozen(directory: string, work: () => Promise<unknown>): Promise<unknown> {
  execFileSync('chattr', ['+i', directory]);
  try {
    return await work().then(
      () => 'nothing',
      (error: unknown) => error instanceof Problem && `${error.code}: ${error.detail}`,
    );
  } finally {
    execFileSync('chattr', ['-i', directory]);
  }
}

test('a directory that takes nothing is named in the answer, and so is what was tried', real, async t => {
  const bench = openRealBench(t);
  const { ask, targetPath } = await open(bench);
  await ask('NodeStageVolume');
  for (const [rpc, syscall] of [
    ['NodePublishVolume', 'mkdir'],
    ['NodeUnpublishVolume', 'rmdir'],
  ] as const) {
    const said = await sayFrozen(`${bench.directory}/pods`, () => ask(rpc));
    assert.equal(said, `UNAVAILABLE: "${syscall}" of "${targetPath}" failed on this node: EPERM`);
    await ask(rpc);
  }
  await ask('NodeUnstageVolume');
});

test('records on what is read-only are named in the answers, and the retry succeeds', real, async t => {
  const bench = openRealBench(t);
  const { ask } = await open(bench);
  await ask('NodeStageVolume');
  const state = `${bench.directory}/state`;
  execFileSync('mount', ['--bind', state, state]);
  execFileSync('mount', ['-o', 'remount,bind,ro', state]);
  await assert.rejects(ask('NodePublishVolume'), { code: 'UNAVAILABLE', detail: /record .*"c\.v": EROFS$/ });
  await assert.rejects(ask('NodeUnstageVolume'), {
    code: 'UNAVAILABLE',
    detail: /^"unlink" of "\S+\/state\/volumes\/c_v-\S+" failed on this node: EROFS$/,
  });
  execFileSync('umount', [state]);
  await ask('NodeUnstageVolume');
  assert.deepEqual(await bench.host.list(`${state}/volumes`), []);
});
