import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { mountsBelow } from '../../../harness/machine.ts';
import { openNode, otherVolume, realFuse, startAgent } from '../../../harness/node.ts';
import { mountFuse } from '../../../harness/node/fuse.ts';

/** Opens two staged volumes, one of them published. */
async function open(t: TestContext) {
  const image = { content: 'ext4' };
  const { bench, agent, request } = await openNode(t, { image });
  const other = otherVolume(bench, request, image);
  for (const each of [request, other]) await stage(agent, each);
  await publish(agent, request);
  /** Covers a path with a filesystem that passes for one of the two volumes, and kills its server. */
  const cover = async (target: string, { attachment } = request): Promise<void> => {
    const fuse = await mountFuse(t, [{ image: attachment.path, target }]);
    await fuse.end();
    const { stderr } = spawnSync('ls', ['--', target], { encoding: 'utf8', env: { LC_ALL: 'C' } });
    assert.match(stderr, /not connected/);
  };
  return { bench, agent, request, other, cover };
}

test('a target whose filesystem died is unpublished, and then unstaged', realFuse, async t => {
  const { bench, agent, request, other, cover } = await open(t);
  await cover(request.targetPath);
  await unpublish(agent, request);
  assert.equal(existsSync(request.targetPath), false);
  for (const each of [request, other]) await unstage(agent, each);
  assert.deepEqual(mountsBelow(bench.directory), []);
});

test('a staging path whose filesystem died is staged without a change, and unstaged', realFuse, async t => {
  const { bench, agent, request, other, cover } = await open(t);
  await unpublish(agent, request);
  await cover(request.stagingPath);
  await stage(agent, request);
  for (const each of [request, other]) await unstage(agent, each);
  assert.deepEqual(mountsBelow(bench.directory), []);
  await stage(agent, request);
  await unstage(agent, request);
});

test('an agent without a record of a dead target unpublishes it', realFuse, async t => {
  const { agent, bench, request, other, cover } = await open(t);
  await cover(request.targetPath);
  await agent.records.remove(request.volumeId);
  const next = await startAgent(bench);
  await unpublish(next, request);
  assert.equal(existsSync(request.targetPath), false);
  await stage(next, request);
  for (const each of [request, other]) await unstage(next, each);
});

test('every call refuses a dead mount of another volume and leaves it alone', realFuse, async t => {
  const { bench, agent, request, other, cover } = await open(t);
  await cover(request.targetPath, other);
  await cover(request.stagingPath, other);
  const before = mountsBelow(bench.directory);
  for (const call of [stage, publish, unpublish, unstage])
    await assert.rejects(call(agent, request), { code: 'FAILED_PRECONDITION', detail: /holds fuse of/ });
  assert.deepEqual(mountsBelow(bench.directory), before);
});
