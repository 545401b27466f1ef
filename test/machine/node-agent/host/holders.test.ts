import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, truncateSync, writeFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { MiB, openNode, putUp, real, withCommands } from '../../../harness/node.ts';

/** Runs a process in a directory until it is ended. */
async function runIn(t: TestContext, cwd: string) {
  const child = spawn('sleep', ['1000'], { cwd, stdio: 'ignore' });
  const ended = once(child, 'exit');
  await once(child, 'spawn');
  const end = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  t.after(end);
  return { pid: child.pid, end };
}

test('a refused unmount lists the processes that use the mount, and their uses', real(), async t => {
  const { agent, request } = await openNode(t, { image: { content: 'ext4' } });
  await putUp(agent, request);
  const { pid, end } = await runIn(t, request.targetPath);
  await assert.rejects(unpublish(agent, request), {
    code: 'UNAVAILABLE',
    detail: new RegExp(`target is busy.*it is held by process ${pid} \\("sleep": its working directory\\)$`),
  });
  await end();
  await unpublish(agent, request);
  const file = openSync(`${request.stagingPath}/[odd]*\\`, 'w');
  await assert.rejects(unstage(agent, request), {
    code: 'UNAVAILABLE',
    detail: new RegExp(`it is held by process ${process.pid} \\("[^"]+": an open file\\)$`),
  });
  closeSync(file);
  await unstage(agent, request);
});

test('a refused unmount names the loop device of a file on the volume', real(), async t => {
  const { agent, request } = await openNode(t, { image: { content: 'ext4' } });
  await stage(agent, request);
  writeFileSync(`${request.stagingPath}/inner`, '');
  truncateSync(`${request.stagingPath}/inner`, MiB);
  const args = ['--find', '--show', `${request.stagingPath}/inner`];
  const device = execFileSync('losetup', args).toString().trim();
  await assert.rejects(unstage(agent, request), { detail: new RegExp(`it is held by device "${device}"$`) });
  execFileSync('losetup', ['--detach', device]);
  await unstage(agent, request);
});

test(
  'a refused unmount without a visible reason says so, and ends even if the search does not',
  real(),
  async t => {
    const { agent, request } = await openNode(t, { image: { content: 'ext4' } });
    await stage(agent, request);
    const busy = { status: 32, stderr: 'umount: target is busy.' };
    for (const found of [{ status: 0 }, { timedOut: true }, { status: 1, stdout: 'find: nonsense' }]) {
      const answers: Readonly<Record<string, object>> = { umount: busy, find: found };
      await assert.rejects(
        unstage(
          withCommands(agent, command => answers[command]),
          request,
        ),
        {
          code: 'UNAVAILABLE',
          detail: /target is busy\.; no process that the agent sees holds on to it$/,
        },
      );
    }
    await unstage(agent, request);
  },
);

test('the error of a device in use names the process that has it open', real(), async t => {
  const { agent, request } = await openNode(t, {
    capability: { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' },
  });
  await stage(agent, request);
  const file = openSync(agent.records.get(request.volumeId)?.device?.path ?? '', 'r');
  await assert.rejects(unstage(agent, request), {
    code: 'UNAVAILABLE',
    detail: new RegExp(`still exists after it was removed: it is held by process ${process.pid} `),
  });
  closeSync(file);
  await unstage(agent, request);
});
