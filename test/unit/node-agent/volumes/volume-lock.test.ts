import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVolumeLock } from '../../../../node-agent/volumes/volume-lock.ts';
import { pause } from '../../../../src/lib/concurrency.ts';
import type { ExecResult } from '../../../../src/lib/exec.ts';
import { openFakeBench, startAgent } from '../../../harness/node.ts';

const ended: ExecResult = { status: 0, stdout: '', stderr: '', timedOut: false };

/** The differences from a call with an exclusive lock on the volume `c.v` and a short timeout. */
type CallChange = {
  readonly volumeId?: string;
  readonly path?: string;
  readonly isShared?: boolean;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
};

/** Opens an agent whose commands end when the test says, and makes calls on its volumes. */
async function open(run: () => Promise<ExecResult>) {
  const bench = openFakeBench();
  const agent = await startAgent({ ...bench, host: { ...bench.host, run } });
  const inTurn = createVolumeLock(agent);
  const call = (operation: string, change: CallChange = {}) => {
    const { volumeId = 'c.v', path = `/${volumeId}`, isShared = false, timeoutMs = 20 } = change;
    const { signal = new AbortController().signal } = change;
    const caller = { deadlineMs: Date.now() + timeoutMs, signal };
    return inTurn(operation, { volumeId, path, isShared, call: caller }, async own => {
      await own.host.run('tool', ['--', '/x']);
      return own.unmounting.isHung;
    });
  };
  return { call };
}

test('a call that times out while it waits is ABORTED and names the command; the volume is free after a failure', async () => {
  const { promise, resolve } = Promise.withResolvers<ExecResult>();
  const outcomes = [() => promise, () => ended, () => assert.fail('no'), () => ended];
  const { call } = await open(async () => outcomes.shift()?.() ?? ended);
  const first = call('NodeStageVolume');
  for (let retry = 0; retry < 2; retry++)
    await assert.rejects(call('NodePublishVolume'), {
      code: 'ABORTED',
      detail:
        /^NodeStageVolume on volume "c\.v" has been running since \d{4}-\d\d-\d\dT\S+, waiting on "tool -- \/x"$/,
    });
  await assert.rejects(call('NodePublishVolume', { volumeId: 'c.other', path: '/c.v' }), {
    code: 'ABORTED',
    detail: /on path "\/c\.v" has been running since/,
  });
  await call('NodePublishVolume', { volumeId: 'c.other' });
  resolve(ended);
  await first;
  await assert.rejects(call('NodePublishVolume'), /no/);
  await call('NodePublishVolume');
});

test('a call that is ABORTED behind a waiting one says that it waits, and names no command', async () => {
  const { promise, resolve } = Promise.withResolvers<ExecResult>();
  const { call } = await open(() => promise);
  const patient = { timeoutMs: 60_000 };
  const all = [
    call('NodeStageVolume', { ...patient, volumeId: 'c.other', path: '/a' }),
    call('NodeUnstageVolume', { ...patient, path: '/a' }),
  ];
  await assert.rejects(call('NodePublishVolume', { path: '/b' }), {
    code: 'ABORTED',
    detail: /^NodeUnstageVolume on volume "c\.v" has been waiting since \d{4}-\d\d-\d\dT\S+Z$/,
  });
  resolve(ended);
  await Promise.all(all);
});

test('calls of one volume run in order of arrival', async () => {
  const { promise, resolve } = Promise.withResolvers<ExecResult>();
  let runs = 0;
  const { call } = await open(async () => (++runs === 1 ? promise : ended));
  const order: string[] = [];
  const patient = { timeoutMs: 60_000 };
  const all = ['NodeStageVolume', 'NodePublishVolume', 'NodeUnstageVolume'].map(async operation => {
    await call(operation, patient);
    order.push(operation);
  });
  await pause(0);
  assert.equal(runs, 1);
  resolve(ended);
  await Promise.all(all);
  assert.deepEqual(order, ['NodeStageVolume', 'NodePublishVolume', 'NodeUnstageVolume']);
});

test('calls that share a volume run concurrently at different paths, up to a limit, and beside no exclusive one', async () => {
  const waiting: ((result: ExecResult) => void)[] = [];
  const { call } = await open(() => new Promise<ExecResult>(resolve => void waiting.push(resolve)));
  const many = { timeoutMs: 60_000, isShared: true };
  const calls = Array.from({ length: 50 }, (_, index) =>
    call('NodePublishVolume', { ...many, path: `/pods/${index}` }),
  );
  const expanding = call('NodeExpandVolume', { timeoutMs: 60_000 });
  const samePath = call('NodeUnpublishVolume', { ...many, path: '/pods/0' });
  await pause(0);
  assert.equal(waiting.length, 8);
  for (let ends = 0; ends < 52; ends++) {
    waiting.shift()?.(ended);
    await pause(0);
    assert.ok(waiting.length <= 8);
  }
  await Promise.all([...calls, expanding, samePath]);
});

test('a call whose caller disconnects while it waits never runs', async () => {
  const { promise, resolve } = Promise.withResolvers<ExecResult>();
  let runs = 0;
  const { call } = await open(async () => (++runs === 1 ? promise : ended));
  const first = call('NodeStageVolume');
  const caller = new AbortController();
  const reason = new Error('gone');
  const gone = call('NodeUnstageVolume', { timeoutMs: 60_000, signal: caller.signal });
  caller.abort(reason);
  await assert.rejects(gone, reason);
  resolve(ended);
  await first;
  await pause(0);
  assert.equal(runs, 1);
});

test('calls behind a hanging one are ABORTED in time, however many arrive, and start no command', async () => {
  const { promise, resolve } = Promise.withResolvers<ExecResult>();
  let runs = 0;
  const { call } = await open(async () => {
    runs++;
    return promise;
  });
  const first = call('NodeStageVolume');
  await pause(0);
  const busy = { code: 'ABORTED', detail: /^NodeStageVolume on volume .* waiting on "tool -- \/x"$/ };
  const calls = Array.from({ length: 300 }, (_, index) =>
    assert.rejects(call('NodePublishVolume', { path: `/pods/${index}`, isShared: true }), busy),
  );
  await Promise.all(calls);
  assert.equal(runs, 1);
  resolve(ended);
  await first;
});

test('a volume with a stuck command accepts only its unmount until the command is gone', async () => {
  const { promise: gone, resolve: die } = Promise.withResolvers<void>();
  let result: ExecResult = { ...ended, status: undefined, timedOut: true, gone };
  const { call } = await open(async () => result);
  assert.equal(await call('NodePublishVolume'), false);
  result = ended;
  await assert.rejects(call('NodePublishVolume'), {
    code: 'UNAVAILABLE',
    detail: /^volume "c\.v" hangs: NodePublishVolume has been waiting since \d{4}-\S+ on "tool -- \/x"$/,
  });
  assert.equal(await call('NodeUnpublishVolume'), true);
  assert.equal(await call('NodePublishVolume', { volumeId: 'c.other' }), false);
  die();
  await gone;
  assert.equal(await call('NodePublishVolume'), false);
});

test('a call that waited for one whose command got stuck runs none itself', async () => {
  const { promise: gone, resolve: die } = Promise.withResolvers<void>();
  const { promise, resolve } = Promise.withResolvers<ExecResult>();
  let runs = 0;
  const { call } = await open(async () => {
    runs++;
    return promise;
  });
  const first = call('NodePublishVolume');
  const next = call('NodeExpandVolume', { timeoutMs: 60_000 });
  resolve({ ...ended, status: undefined, timedOut: true, gone });
  await first;
  await assert.rejects(next, { code: 'UNAVAILABLE', detail: /NodePublishVolume has been waiting since/ });
  assert.equal(runs, 1);
  die();
  await gone;
});

test('a stuck unmount allows no second one, however often it is retried', async () => {
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
        detail: /NodeUnpublishVolume has been waiting since/,
      });
  await assert.rejects(call('NodePublishVolume'), { detail: /NodeGetVolumeStats has been waiting since/ });
  assert.equal(runs, 2);
  die();
  await gone;
  await call('NodeUnpublishVolume');
  assert.equal(runs, 3);
});
