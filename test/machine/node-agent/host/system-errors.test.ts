import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { Problem } from '../../../../src/api/problem.ts';
import { openFakeBench, openRealBench, openService, real } from '../../../harness/node.ts';

const rpcs = ['NodeStageVolume', 'NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume'] as const;
const ofExt4 = { image: { content: 'ext4' } };

test('the answer names the step of a call that the system refuses, and the retry succeeds', async () => {
  const said = new Set<string>();
  for (let step = 1, isPast = false; !isPast; step++) {
    const bench = openFakeBench();
    const { host } = bench;
    const { ask } = await openService(bench, ofExt4);
    host.failAt({ step, when: 'before', how: 'error' });
    for (const rpc of rpcs) {
      const error = await ask(rpc).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error === undefined) continue;
      const syscall =
        error instanceof Problem &&
        /^"(\w+)" of "\/\S+" failed on this node: it cannot be read or written: its disk reports errors$/.exec(
          error.detail,
        );
      if (syscall) said.add(syscall[1] ?? '');
      // A mounted path cannot be read: the fake error has no path then.
      assert.ok(error instanceof Problem || (error as NodeJS.ErrnoException).path === undefined);
      await ask(rpc);
    }
    isPast = host.steps < step;
  }
  for (const syscall of ['mkdir', 'rmdir', 'unlink', 'lstat', 'open']) assert.ok(said.has(syscall), syscall);
});

test('an error on an immutable directory names the directory and the attempted action', real(), async t => {
  const bench = openRealBench(t);
  const { ask, request } = await openService(bench, ofExt4);
  await ask('NodeStageVolume');
  for (const [rpc, syscall] of [
    ['NodePublishVolume', 'mkdir'],
    ['NodeUnpublishVolume', 'rmdir'],
  ] as const) {
    const detail = `"${syscall}" of "${request.target_path}" failed on this node: it cannot be used: permission denied`;
    execFileSync('chattr', ['+i', `${bench.directory}/pods`]);
    try {
      await assert.rejects(ask(rpc), { code: 'UNAVAILABLE', detail });
    } finally {
      execFileSync('chattr', ['-i', `${bench.directory}/pods`]);
    }
    await ask(rpc);
  }
  await ask('NodeUnstageVolume');
});

test('errors on records in a read-only directory name it, and the retry succeeds', real(), async t => {
  const bench = openRealBench(t);
  const { ask } = await openService(bench, ofExt4);
  await ask('NodeStageVolume');
  const state = `${bench.directory}/state`;
  execFileSync('mount', ['--bind', state, state]);
  execFileSync('mount', ['-o', 'remount,bind,ro', state]);
  await assert.rejects(ask('NodePublishVolume'), {
    code: 'UNAVAILABLE',
    detail: /record .*"c\.v": it cannot be written: its filesystem is read-only$/,
  });
  await assert.rejects(ask('NodeUnstageVolume'), {
    code: 'UNAVAILABLE',
    detail:
      /^"unlink" of "\S+\/state\/volumes\/c_v-\S+" failed on this node: it cannot be written: its filesystem is read-only$/,
  });
  execFileSync('umount', [state]);
  await ask('NodeUnstageVolume');
  assert.deepEqual(await bench.host.list(`${state}/volumes`), []);
});
