import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { openSync, readFileSync, writeFileSync, closeSync, existsSync } from 'node:fs';
import { test } from 'node:test';
import type { Capability } from '../../../../src/api/storage.ts';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import {
  findMissing,
  measure,
  openRealBench,
  requestFor,
  startAgent,
  whyNoMachine,
} from '../../../harness/node-agent-bench.ts';

const real = whyNoMachine === undefined ? {} : { skip: whyNoMachine };
const block: Capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' };

for (const fsType of ['ext4', 'xfs', 'btrfs']) {
  const skip = whyNoMachine ?? findMissing([`mkfs.${fsType}`]);
  test(
    `a new ${fsType} volume keeps its data over a whole cycle`,
    skip === undefined ? {} : { skip },
    async t => {
      const bench = openRealBench(t);
      const agent = await startAgent(bench);
      const request = {
        ...requestFor(bench, bench.makeImage('image')),
        capability: { accessType: 'mount', accessMode: 'SINGLE_NODE_MULTI_WRITER', fsType } as const,
      };
      await stage(agent, request);
      await publish(agent, request);
      writeFileSync(`${request.targetPath}/file`, 'data');
      const { bytes } = await measure(agent, { volumeId: 'c.v', path: request.targetPath });
      assert.ok(bytes.total > 2 ** 27 && (bytes.available ?? 0) > 0);
      await unpublish(agent, request);
      assert.equal(existsSync(request.targetPath), false);
      await unstage(agent, request);
      assert.equal(loopsOf(request.attachment.path), '');
      await stage(agent, { ...request, attachment: { ...request.attachment, mayFormat: false } });
      await publish(agent, { ...request, readonly: true });
      assert.equal(readFileSync(`${request.targetPath}/file`, 'utf8'), 'data');
      assert.throws(() => writeFileSync(`${request.targetPath}/other`, ''), { code: 'EROFS' });
      await unpublish(agent, request);
      await unstage(agent, request);
    },
  );

  test(`a read-only ${fsType} attachment is not written`, skip === undefined ? {} : { skip }, async t => {
    const bench = openRealBench(t);
    const agent = await startAgent(bench);
    const request = requestFor(bench, bench.makeImage('image', { content: fsType }));
    const { path } = request.attachment;
    execFileSync('cp', ['--sparse=always', path, `${path}-before`]);
    const readonly = {
      ...request,
      capability: { accessType: 'mount', accessMode: 'MULTI_NODE_READER_ONLY', fsType } as const,
    };
    await stage(agent, readonly);
    await publish(agent, readonly);
    assert.throws(() => writeFileSync(`${request.targetPath}/file`, ''), { code: 'EROFS' });
    await unpublish(agent, readonly);
    await unstage(agent, readonly);
    execFileSync('cmp', [path, `${path}-before`]);
  });
}

test('a block volume is its own device, and keeps what is written', real, async t => {
  const bench = openRealBench(t);
  const agent = await startAgent(bench);
  const request = { ...requestFor(bench, bench.makeImage('image')), capability: block };
  await stage(agent, request);
  await publish(agent, request);
  await publish(agent, request);
  const { bytes, inodes } = await measure(agent, { volumeId: 'c.v', path: request.targetPath });
  assert.deepEqual({ bytes, inodes }, { bytes: { total: 320 * 2 ** 20 }, inodes: undefined });
  writeFileSync(request.targetPath, 'data', { flag: 'r+' });
  await unpublish(agent, request);
  assert.equal(existsSync(request.targetPath), false);
  await unstage(agent, request);
  assert.equal(loopsOf(request.attachment.path), '');
  assert.equal(readFileSync(request.attachment.path).subarray(0, 4).toString(), 'data');
});

test('a read-only block volume is kept from writing by the kernel', real, async t => {
  const bench = openRealBench(t);
  const agent = await startAgent(bench);
  const request = requestFor(bench, bench.makeImage('image'));
  const readonly = {
    ...request,
    capability: block,
    readonly: true,
    attachment: { ...request.attachment, readonly: true },
  };
  await stage(agent, readonly);
  await publish(agent, readonly);
  assert.throws(() => writeFileSync(request.targetPath, 'data', { flag: 'r+' }), { code: 'EPERM' });
  await unpublish(agent, readonly);
  await unstage(agent, readonly);
});

test('what is mounted outlives the agent, and the next one goes on with it', real, async t => {
  const bench = openRealBench(t);
  const request = requestFor(bench, bench.makeImage('image'));
  const first = await startAgent(bench);
  await stage(first, request);
  await publish(first, request);
  const file = openSync(`${request.targetPath}/file`, 'w');
  const second = await startAgent(bench);
  await stage(second, request);
  await publish(second, request);
  writeFileSync(file, 'data');
  closeSync(file);
  await assert.rejects(unstage(second, request), {
    code: 'FAILED_PRECONDITION',
    detail: /still published at/,
  });
  await unpublish(second, request);
  await unstage(second, request);
  assert.equal(loopsOf(request.attachment.path), '');
});

test('a volume in use by a process is not reported as unstaged', real, async t => {
  const bench = openRealBench(t);
  const agent = await startAgent(bench);
  const request = requestFor(bench, bench.makeImage('image'));
  await stage(agent, request);
  const file = openSync(`${request.stagingPath}/file`, 'w');
  await assert.rejects(unstage(agent, request), { code: 'UNAVAILABLE' });
  closeSync(file);
  await unstage(agent, request);
});

function loopsOf(path: string): string {
  return execFileSync('losetup', ['--associated', path], { encoding: 'utf8' });
}
