import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import {
  connectElsewhere,
  makeTemporaryDirectory,
  mountsBelow,
  removeTemporaryDirectory,
} from '../../../harness/machine.ts';
import {
  openRealBench,
  openVolume,
  putUp,
  real,
  startAgent,
  takeDown,
} from '../../../harness/node-agent-bench.ts';

const refused = { code: 'FAILED_PRECONDITION' };

/** A volume on a node whose root is the bench's directory, and a directory outside of that. */
async function open(t: TestContext) {
  const elsewhere = makeTemporaryDirectory();
  t.after(() => removeTemporaryDirectory(elsewhere));
  return { ...(await openVolume(openRealBench(t), { image: { content: 'ext4' } })), elsewhere };
}

test("unpublish of an unknown volume leaves another application's loop mount", real(), async t => {
  const { agent, request, elsewhere } = await open(t);
  const file = `${elsewhere}/image`;
  copyFileSync(request.attachment.path, file);
  mkdirSync(request.targetPath);
  execFileSync('mount', ['--options', 'loop', '--', file, request.targetPath]);
  writeFileSync(`${request.targetPath}/file`, 'data');
  await assert.rejects(unpublish(agent, request), refused);
  rmSync(file);
  await assert.rejects(unpublish(agent, request), refused);
  assert.deepEqual(mountsBelow(request.targetPath), [request.targetPath]);
});

test('unpublish of an unknown volume leaves the mount of a volume that is on record', real(), async t => {
  const { agent, request } = await open(t);
  await stage(agent, request);
  // As kubelet mounts a part of a volume: no record has this path.
  mkdirSync(request.targetPath);
  execFileSync('mount', ['--bind', '--', request.stagingPath, request.targetPath]);
  await assert.rejects(unpublish(agent, { ...request, volumeId: 'c.unknown' }), refused);
  await unpublish(agent, request);
  await unstage(agent, request);
});

test('unpublish without a record takes down what is below a root, and nothing else', real(), async t => {
  const { agent, bench, request } = await open(t);
  await putUp(agent, request);
  await agent.records.remove(request.volumeId);
  const { trust } = agent;
  const forgetful = await startAgent(bench);
  const rootless = { ...forgetful, trust: { ...trust, roots: [] } };
  await assert.rejects(unpublish(rootless, request), refused);
  await unpublish({ ...forgetful, trust }, request);
  assert.deepEqual(mountsBelow(request.targetPath), []);
});

test(
  'unpublish of an unknown volume leaves a loop mount whose file has a path below a root in another mount namespace alone',
  real(),
  async t => {
    const { agent, bench, request, elsewhere } = await open(t);
    const { path } = request.attachment;
    const at = `${bench.directory}/files`;
    mkdirSync(at);
    mkdirSync(request.targetPath);
    copyFileSync(path, `${elsewhere}/image`);
    const other = await connectElsewhere(t, { directory: elsewhere, at, name: 'image' });
    execFileSync('mount', ['--', other.device, request.targetPath]);
    await assert.rejects(unpublish(agent, request), refused);
    copyFileSync(path, `${at}/image`);
    await assert.rejects(unpublish(agent, request), refused, 'a file of ours has that name');
    assert.deepEqual(mountsBelow(request.targetPath), [request.targetPath]);
    execFileSync('umount', ['--', request.targetPath]);
    execFileSync('losetup', ['--detach', other.device]);
    await other.end();
  },
);

test(
  'unpublish without a record takes nothing down while a record is damaged, for it may be in that',
  real(),
  async t => {
    const { agent, bench, request } = await open(t);
    await putUp(agent, request);
    const [file = ''] = readdirSync(`${bench.directory}/state/volumes`);
    const record = `${bench.directory}/state/volumes/${file}`;
    const sound = readFileSync(record, 'utf8');
    writeFileSync(record, sound.slice(1));
    const forgetful = await startAgent(bench);
    await assert.rejects(unpublish(forgetful, { ...request, volumeId: 'c.other' }), {
      ...refused,
      detail: /damaged/,
    });
    assert.deepEqual(mountsBelow(request.targetPath), [request.targetPath]);
    writeFileSync(record, sound);
    await takeDown(await startAgent(bench), request);
  },
);
