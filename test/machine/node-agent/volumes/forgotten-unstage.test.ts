import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { publish } from '../../../../node-agent/volumes/publish.ts';
import { stage } from '../../../../node-agent/volumes/stage.ts';
import { loopDevicesOf, mountsBelow } from '../../../harness/machine.ts';
import { openNode, real, startAgent, takeDown } from '../../../harness/node.ts';
import { hashData } from '../../../harness/values.ts';

/** Opens a staged volume with durable data, and with data and metadata in memory. */
async function openForgotten(t: TestContext, fsType: string) {
  const opened = await openNode(t, { capability: { fsType } });
  const { agent, request } = opened;
  await stage(agent, request);
  const file = `${request.stagingPath}/file`;
  writeFileSync(file, 'durable', { flush: true });
  execFileSync('sync', ['--file-system', '--', file]);
  // Their metadata is in the journal, and not in its own blocks yet.
  for (let index = 0; index < 100; index++) writeFileSync(`${file}-${index}`, 'durable', { flush: true });
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, 'unknown', 0);
  closeSync(descriptor);
  writeFileSync(`${request.stagingPath}/large`, 'unknown'.repeat(2 ** 20));
  const again = { ...request, attachment: { ...request.attachment, attachmentId: 'attachment-2' } };
  return { ...opened, file, again };
}

for (const fsType of ['xfs', 'btrfs'])
  test(
    `data in memory of an ${fsType} with an old attachment never reaches its storage`,
    real(`mkfs.${fsType}`),
    async t => {
      const { bench, request, file, again } = await openForgotten(t, fsType);
      const { path } = request.attachment;
      const seen: string[] = [];
      const watching = await startAgent(bench);
      const { host } = watching;
      const run: typeof host.run = async (command, args, options) => {
        const isCut = args.some(arg => arg.endsWith('loop/cut-off.ts'));
        const isFirstUnmount = command === 'umount' && seen.length === 2;
        if (isCut || isFirstUnmount) seen.push(hashData(path));
        const result = await host.run(command, args, options);
        if (isCut || isFirstUnmount) seen.push(hashData(path));
        return result;
      };
      await stage({ ...watching, host: { ...host, run } }, again);
      assert.equal(seen.length, 4);
      assert.deepEqual([...new Set(seen)], seen.slice(0, 1), 'the cut and the unmount write nothing');
      for (const one of [file, `${file}-0`, `${file}-99`]) assert.equal(readFileSync(one, 'utf8'), 'durable');
      await publish(watching, again);
      writeFileSync(`${request.targetPath}/next`, 'data', { flush: true });
      await takeDown(watching, again);
      assert.deepEqual([mountsBelow(bench.directory), loopDevicesOf(bench.directory)], [[], []]);
    },
  );

test(
  'an ext4 over loop with an old attachment is staged anew, and its data in memory never reach the storage',
  real(),
  async t => {
    const { bench, agent, request, file, again } = await openForgotten(t, 'ext4');
    await stage(agent, again);
    for (const one of [file, `${file}-0`, `${file}-99`]) assert.equal(readFileSync(one, 'utf8'), 'durable');
    await publish(agent, again);
    writeFileSync(`${request.targetPath}/next`, 'data', { flush: true });
    await takeDown(agent, again);
    assert.deepEqual([mountsBelow(bench.directory), loopDevicesOf(bench.directory)], [[], []]);
    execFileSync('e2fsck', ['-fn', request.attachment.path], { stdio: 'ignore' });
  },
);

test('data that another node wrote meanwhile is there, and stays', real('mkfs.xfs'), async t => {
  const { bench, agent, request } = await openNode(t, { capability: { fsType: 'xfs' } });
  await stage(agent, request);
  writeFileSync(`${request.stagingPath}/former`, 'former', { flush: true });
  execFileSync('sync', ['--file-system', '--', request.stagingPath]);
  // Like on another machine, which does not see the data in this one's memory.
  const { path } = request.attachment;
  const elsewhere = `${bench.directory}/elsewhere`;
  execFileSync('cp', ['--sparse=always', '--', path, elsewhere]);
  const theirs = {
    ...request,
    volumeId: 'c.elsewhere',
    stagingPath: `${request.stagingPath}-elsewhere`,
    attachment: { ...request.attachment, path: elsewhere },
  };
  await stage(agent, theirs);
  writeFileSync(`${theirs.stagingPath}/theirs`, 'theirs', { flush: true });
  await takeDown(agent, theirs);
  writeFileSync(`${request.stagingPath}/unknown`, 'unknown'.repeat(2 ** 20));
  execFileSync('dd', [`if=${elsewhere}`, `of=${path}`, 'bs=1M', 'conv=notrunc'], { stdio: 'ignore' });
  const again = { ...request, attachment: { ...request.attachment, attachmentId: 'attachment-2' } };
  await stage(agent, again);
  assert.equal(readFileSync(`${request.stagingPath}/theirs`, 'utf8'), 'theirs');
  assert.equal(existsSync(`${request.stagingPath}/unknown`), false);
  await takeDown(agent, again);
  execFileSync('xfs_repair', ['-n', path], { stdio: 'ignore' });
});
