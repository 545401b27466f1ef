import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVolumeLock } from '../../../../node-agent/volumes/volume-lock.ts';
import type { ExecResult } from '../../../../src/lib/exec.ts';
import { openFakeBench, startAgent } from '../../../harness/node-agent-bench.ts';

const ended: ExecResult = { status: 0, stdout: '', stderr: '', timedOut: false };

/** An agent whose commands end as the test says, and two calls on its volume. */
async function open(run: () => Promise<ExecResult>) {
  const bench = openFakeBench();
  const agent = await startAgent({ ...bench, host: { ...bench.host, run } });
  const alone = createVolumeLock(agent);
  const call = (operation: string, volumeId = 'c.v', path = `/${volumeId}`) =>
    alone(operation, { volumeId, path }, async own => {
      await own.host.run('tool', ['--', '/x']);
      return own.unmounting.isHung;
    });
  return { call };
}

test('a busy volume or path is ABORTED and says which command it waits on, and is free after a failure too', async () => {
  const { promise, resolve } = Promise.withResolvers<ExecResult>();
  const outcomes = [promise, ended, Promise.reject(new Error('no')), ended];
  const { call } = await open(async () => outcomes.shift() ?? ended);
  const first = call('NodeStageVolume');
  for (let retry = 0; retry < 2; retry++)
    await assert.rejects(call('NodePublishVolume'), {
      code: 'ABORTED',
      detail: /^NodeStageVolume on volume "c\.v" runs since \d{4}-\d\d-\d\dT\S+, waiting on "tool -- \/x"$/,
    });
  await assert.rejects(call('NodePublishVolume', 'c.other', '/c.v'), {
    code: 'ABORTED',
    detail: /on path "\/c\.v" runs since/,
  });
  await call('NodePublishVolume', 'c.other');
  resolve(ended);
  await first;
  await assert.rejects(call('NodePublishVolume'), /no/);
  await call('NodePublishVolume');
});

test('a volume with a stuck command takes its unmount alone until the command is gone', async () => {
  const { promise: gone, resolve: die } = Promise.withResolvers<void>();
  let result: ExecResult = { ...ended, status: undefined, timedOut: true, gone };
  const { call } = await open(async () => result);
  assert.equal(await call('NodePublishVolume'), false);
  result = ended;
  await assert.rejects(call('NodePublishVolume'), {
    code: 'UNAVAILABLE',
    detail: /^volume "c\.v" hangs: NodePublishVolume waits since \d{4}-\S+ on "tool -- \/x"$/,
  });
  assert.equal(await call('NodeUnpublishVolume'), true);
  assert.equal(await call('NodePublishVolume', 'c.other'), false);
  die();
  await gone;
  assert.equal(await call('NodePublishVolume'), false);
});

test('an unmount that is stuck, too, takes no second one, however often it is retried', async () => {
  const { promise: gone, resolve: die } = Promise.withResolvers<void>();
  let runs = 0;
  const { call } = await open(async () => {
    runs++;
    return { ...ended, status: undefined, timedOut: true, gone };
  });
  await call('NodeGetVolumeStats');
  assert.equal(await call('NodeUnpublishVolume'), true);
  for (let retry = 1; retry <= 5; retry++)
    for (const operation of ['NodeUnpublishVolume', 'NodeUnstageVolume'])
      await assert.rejects(call(operation), {
        code: 'UNAVAILABLE',
        detail: /NodeUnpublishVolume waits since/,
      });
  await assert.rejects(call('NodePublishVolume'), { detail: /NodeGetVolumeStats waits since/ });
  assert.equal(runs, 2);
  die();
  await gone;
  await call('NodeUnpublishVolume');
  assert.equal(runs, 3);
});
