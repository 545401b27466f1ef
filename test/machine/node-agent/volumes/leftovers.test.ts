import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import {
  block,
  openFakeBench,
  openNode,
  otherVolume,
  putUp,
  real,
  startAgent,
  takeDown,
  type Bench,
} from '../../../harness/node.ts';

type Setting = Awaited<ReturnType<typeof openNode<Bench>>>;

const refused = { code: 'FAILED_PRECONDITION' };

/** Runs the test on the fake machine and on this one. */
function check(title: string, work: (setting: Setting) => Promise<void>): void {
  test(`${title} (the fake machine)`, async () => work(await openNode(openFakeBench())));
  test(`${title} (this machine)`, real(), async t => work(await openNode(t)));
}

check('undoing work that was never done, or is already undone, succeeds', async ({ agent, request }) => {
  await takeDown(agent, request);
  await unpublish(agent, { ...request, targetPath: `${request.targetPath}/a/b` });
  await putUp(agent, request);
  for (const operation of [unpublish, unpublish, unstage, unstage]) await operation(agent, request);
});

for (const kind of ['Directory', 'File'] as const)
  check(`unpublish removes a target that is an empty ${kind}`, async ({ agent, bench, request }) => {
    await bench.host[`create${kind}`](request.targetPath);
    await unpublish(agent, request);
    assert.equal(await bench.host.kindOf(request.targetPath), 'nothing');
  });

check('unpublish takes down mounts that are stacked', async ({ agent, bench, request }) => {
  await putUp(agent, request);
  for (let i = 0; i < 2; i++)
    await bench.host.run('mount', ['--bind', '--', request.stagingPath, request.targetPath]);
  await unpublish(agent, request);
  assert.equal(await bench.host.kindOf(request.targetPath), 'nothing');
  await unstage(agent, request);
});

check('unpublish keeps a directory that is not mounted and not empty', async ({ agent, bench, request }) => {
  await bench.host.createDirectory(request.targetPath);
  await bench.host.createFile(`${request.targetPath}/file`);
  await assert.rejects(unpublish(agent, request), {
    ...refused,
    detail: `target_path "${request.targetPath}" is not mounted and not empty; move its files away by hand`,
  });
  assert.equal(await bench.host.kindOf(`${request.targetPath}/file`), 'file');
});

check('unpublish touches nothing while something is mounted below', async ({ agent, bench, request }) => {
  const below = `${request.targetPath}/below`;
  await stage(agent, request);
  for (const path of [request.targetPath, below]) await bench.host.createDirectory(path);
  await bench.host.run('mount', ['--bind', '--', request.stagingPath, below]);
  await assert.rejects(unpublish(agent, request), refused);
  await bench.host.run('umount', ['--', below]);
  await bench.host.removeDirectory(below);
  await takeDown(agent, request);
});

check('a staging path is no target, to publish at or to unpublish', async ({ agent, bench, request }) => {
  await stage(agent, request);
  const atStaging = { ...request, targetPath: request.stagingPath };
  await assert.rejects(publish(agent, atStaging), { code: 'INVALID_ARGUMENT' });
  for (const volumeId of ['c.v', 'c.other'])
    await assert.rejects(unpublish(agent, { ...atStaging, volumeId }), refused);
  const record = agent.records.get('c.v') ?? assert.fail();
  await agent.records.put({ ...record, targets: [{ path: request.stagingPath, readonly: false }] });
  await assert.rejects(unpublish(agent, atStaging), refused);
  const mounts = await bench.host.mounts();
  assert.equal(mounts.filter(({ path }) => path === request.stagingPath).length, 1);
  await unstage(agent, request);
});

check('unstage refuses while published, recorded or not', async ({ agent, bench, request }) => {
  const stillPublished = {
    ...refused,
    detail: `volume "c.v" is still published at "${request.targetPath}"`,
  };
  await putUp(agent, request);
  await assert.rejects(unstage(agent, request), stillPublished);
  await agent.records.remove(request.volumeId);
  const next = await startAgent(bench);
  await stage(next, request);
  await assert.rejects(unstage(next, request), stillPublished);
  await publish(next, request);
  await takeDown(next, request);
});

check("stage does not reuse another volume's mount, and unstage leaves it", async setting => {
  const { agent, bench, request } = setting;
  const other = { ...otherVolume(bench, request), stagingPath: request.stagingPath };
  await stage(agent, other);
  for (const call of [stage, unstage])
    await assert.rejects(call(agent, request), { ...refused, detail: /is not volume "c.v"/ });
  await unstage(agent, other);
  await stage(agent, request);
  await unstage(agent, request);
});

check("a late unpublish leaves another volume's mount at the path alone, after a restart", async setting => {
  const { agent, bench, request } = setting;
  const other = otherVolume(bench, request);
  await putUp(agent, request);
  await unpublish(agent, request);
  await stage(agent, other);
  // The record on disk still has the target.
  const next = await startAgent(bench);
  await publish(next, other);
  await assert.rejects(unpublish(next, request), { ...refused, detail: /is not volume "c.v"/ });
  await unstage(next, request);
  await takeDown(next, other);
});

check('a second volume on one device is refused, and leaves the first in use', async setting => {
  const { agent, request } = setting;
  const first = { ...request, capability: block };
  await putUp(agent, first);
  const second = { ...request, volumeId: 'c.other', stagingPath: `${request.stagingPath}-other` };
  await assert.rejects(stage(agent, second), refused);
  await publish(agent, first);
  await takeDown(agent, first);
});

check('publish after the staging mount was lost is refused', async ({ agent, bench, request }) => {
  await stage(agent, request);
  await bench.host.run('umount', ['--', request.stagingPath]);
  await assert.rejects(publish(agent, request), { ...refused, detail: /is not mounted at/ });
  await unstage(agent, request);
});

check('stage goes on after a reboot with another attachment', async ({ agent, bench, request }) => {
  await putUp(agent, request);
  for (const path of [request.targetPath, request.stagingPath]) await bench.host.run('umount', ['--', path]);
  const rebooted = await startAgent(bench);
  const attachment = { ...request.attachment, attachmentId: 'attachment-2' };
  await stage(rebooted, { ...request, attachment });
  await takeDown(rebooted, request);
});

test('unpublish leaves a foreign mount and a file that holds data alone', real(), async t => {
  const { agent, bench, request } = await openNode(t);
  await bench.host.createDirectory(request.targetPath);
  execFileSync('mount', ['-t', 'tmpfs', 'none', request.targetPath]);
  writeFileSync(`${request.targetPath}/precious`, 'data');
  await assert.rejects(unpublish(agent, request), { ...refused, detail: /tmpfs/ });
  await stage(agent, request);
  await assert.rejects(unpublish(agent, request), { ...refused, detail: /tmpfs/ });
  assert.equal(readFileSync(`${request.targetPath}/precious`, 'utf8'), 'data');
  const file = `${request.targetPath}-file`;
  writeFileSync(file, 'kubelet');
  const holdsData = { ...refused, detail: /holds data/ };
  await assert.rejects(unpublish(agent, { ...request, targetPath: file }), holdsData);
  assert.equal(readFileSync(file, 'utf8'), 'kubelet');
  await unstage(agent, request);
});
