import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { test, type TestContext } from 'node:test';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { directoryOf, connectInOwnMounts, loopDevicesOf, mountsBelow } from '../../../harness/machine.ts';
import {
  block,
  openNode,
  putUp,
  real,
  startAgent,
  startWithoutRecords,
  takeDown,
} from '../../../harness/node.ts';

const refused = { code: 'FAILED_PRECONDITION' };

/** Opens a volume on a node whose root is the bench's directory, and a directory outside of it. */
async function open(t: TestContext) {
  const elsewhere = directoryOf(t);
  return { ...(await openNode(t, { image: { content: 'ext4' } })), elsewhere };
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

test('unpublish of an unknown volume leaves the mount of a recorded volume', real(), async t => {
  const { agent, request } = await open(t);
  await stage(agent, request);
  // Mounts a part of the volume, as kubelet does: no record has this path.
  mkdirSync(request.targetPath);
  execFileSync('mount', ['--bind', '--', request.stagingPath, request.targetPath]);
  await assert.rejects(unpublish(agent, { ...request, volumeId: 'c.unknown' }), refused);
  await unpublish(agent, request);
  await unstage(agent, request);
});

test('unpublish without a record removes mounts from below a root, and nothing else', real(), async t => {
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
    const other = await connectInOwnMounts(t, { directory: elsewhere, at, name: 'image' });
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
  'unpublish without a record removes nothing while a record is damaged, because that may be the missing one',
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

test(
  'a block volume whose record was lost is unpublished and unstaged, and no device is left',
  real(),
  async t => {
    for (const isReader of [false, true])
      for (const isPublished of [false, true]) {
        const { agent, bench, request: opened } = await openNode(t, { capability: block });
        const request = { ...opened, readonly: isReader };
        mkdirSync(request.stagingPath);
        await stage(agent, request);
        if (isPublished) await publish(agent, request);
        const forgetful = await startWithoutRecords(bench);
        if (isPublished) {
          await assert.rejects(unstage(forgetful, request), { ...refused, detail: /still published at/ });
          await unpublish(forgetful, request);
        }
        await unstage(forgetful, request);
        assert.deepEqual(loopDevicesOf(bench.directory), []);
        assert.deepEqual(readdirSync(request.stagingPath), []);
        await unstage(forgetful, request);
      }
  },
);

test('a block volume whose record was lost keeps its device while that is in use', real(), async t => {
  const { agent, bench, request } = await openNode(t, { capability: block });
  await stage(agent, request);
  const user = openSync(agent.records.get(request.volumeId)?.device?.path ?? '', 'r');
  const forgetful = await startWithoutRecords(bench);
  await assert.rejects(unstage(forgetful, request), { code: 'UNAVAILABLE', detail: /is held by process/ });
  closeSync(user);
  await unstage(forgetful, request);
  assert.deepEqual(loopDevicesOf(bench.directory), []);
});

test(
  "a staging directory's file of another volume, or a damaged one, is no block volume's record",
  real(),
  async t => {
    const { agent, bench, request } = await openNode(t, { capability: block });
    mkdirSync(request.stagingPath);
    await stage(agent, request);
    const [name = ''] = readdirSync(request.stagingPath);
    const copy = `${request.stagingPath}/${name}`;
    const sound = readFileSync(copy, 'utf8');
    const forgetful = await startWithoutRecords(bench);
    await unstage(forgetful, { ...request, volumeId: 'c.other' });
    for (const odd of [sound.slice(1), '', sound.replaceAll('c.v', 'c.w')]) {
      writeFileSync(copy, odd);
      await unstage(forgetful, request);
      assert.equal(loopDevicesOf(bench.directory).length, 1);
    }
    writeFileSync(copy, sound);
    await unstage(forgetful, request);
    assert.deepEqual(loopDevicesOf(bench.directory), []);
  },
);

test('an unrecorded mount is reported as unknown, and not as another volume', real(), async t => {
  const { agent, bench, request } = await openNode(t, { image: { content: 'ext4' } });
  await putUp(agent, request);
  const forgetful = await startWithoutRecords(bench);
  const unknown = { ...refused, detail: /has no record of volume "c\.v" to compare it with/ };
  await assert.rejects(unstage(forgetful, request), unknown);
  const rootless = { ...forgetful, trust: { ...forgetful.trust, roots: [] } };
  await assert.rejects(unpublish(rootless, request), unknown);
  await stage(forgetful, request);
  await takeDown(forgetful, request);
});
