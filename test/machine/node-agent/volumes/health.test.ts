import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { examine, examineStorage } from '../../../../node-agent/volumes/health.ts';
import { publish } from '../../../../node-agent/volumes/publish.ts';
import { createReadings } from '../../../../node-agent/host/readings.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import type { Capability } from '../../../../src/api/storage.ts';
import {
  openFakeBench,
  openRealBench,
  openNode,
  otherVolume,
  putUp,
  real,
  takeDown,
  withCommands,
  type Bench,
} from '../../../harness/node.ts';

async function open(bench: Bench, change: Partial<Capability> = {}) {
  const capability = { accessMode: 'SINGLE_NODE_MULTI_WRITER', ...change } as const;
  const { agent, request } = await openNode(bench, { capability });
  await putUp(agent, request);
  const readings = createReadings(agent);
  const unknown = { volumeId: request.volumeId, publishPath: '', stagingPath: '' };
  const look = async (at: object = {}): Promise<readonly string[]> => {
    const faults = await examine(agent, readings, { ...unknown, ...at });
    // On a busy machine, a command may take longer than an answer; the next look gets its result.
    if (faults.some(({ reason }) => reason === 'Hung')) return look(at);
    return faults.map(({ status, reason }) => `${status} ${reason}`);
  };
  return { agent, request, look };
}

test('a working volume has no problem at any of its paths', async () => {
  for (const accessType of ['mount', 'block'] as const) {
    const { look, request, agent } = await open(openFakeBench(), { accessType });
    assert.deepEqual(await look(), []);
    assert.deepEqual(await look({ publishPath: request.targetPath, stagingPath: request.stagingPath }), []);
    assert.deepEqual(examineStorage(agent), []);
  }
});

test('a volume that is not on this node, or at another path of it, is NOT_FOUND', async () => {
  const { look } = await open(openFakeBench());
  for (const at of [{ volumeId: 'c.none' }, { publishPath: '/other' }, { stagingPath: '/other' }])
    await assert.rejects(look(at), { code: 'NOT_FOUND' });
});

test("a missing mount is reported, and so is another volume's in its place", async () => {
  const bench = openFakeBench();
  const { agent, look, request } = await open(bench);
  await bench.host.run('umount', ['--', request.targetPath]);
  const publishPath = request.targetPath;
  assert.deepEqual(await look({ publishPath }), ['INACCESSIBLE NotMounted']);
  assert.deepEqual(await look(), []);
  const other = otherVolume(bench, request);
  await stage(agent, other);
  await bench.host.run('mount', ['--bind', '--', other.stagingPath, publishPath]);
  assert.deepEqual(await look({ publishPath }), ['INACCESSIBLE ForeignMount']);
});

test('a missing device is reported', async () => {
  for (const accessType of ['mount', 'block'] as const) {
    const bench = openFakeBench();
    const { look } = await open(bench, { accessType });
    bench.host.state.loops.clear();
    assert.deepEqual(await look(), ['INACCESSIBLE DeviceGone']);
  }
});

test(
  'an ext4 that turned read-only accepts no writer, and is repaired at the next stage',
  real(),
  async t => {
    const bench = openRealBench(t);
    const { agent, look, request } = await open(bench, { fsType: 'ext4' });
    const device = agent.records.get(request.volumeId)?.device?.path ?? '';
    execFileSync('tee', [`/sys/fs/ext4/${device.slice('/dev/'.length)}/trigger_fs_error`], {
      input: 'error of a test',
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    assert.deepEqual(await look(), ['DEGRADED TurnedReadOnly']);
    const second = { ...request, targetPath: `${request.targetPath}-2` };
    await assert.rejects(publish(agent, second), {
      code: 'FAILED_PRECONDITION',
      detail: /the ext4 of volume "c\.v" turned read-only after an error/,
    });
    await takeDown(agent, request);
    await stage(agent, request);
    assert.deepEqual(await look(), []);
    const { stdout } = await bench.host.run('dumpe2fs', ['-h', '--', device]);
    assert.doesNotMatch(stdout, /with errors/);
    await publish(agent, request);
    await takeDown(agent, request);
  },
);

test('an xfs that was shut down is inaccessible', real('mkfs.xfs', 'xfs_io'), async t => {
  const bench = openRealBench(t);
  const { agent, look, request } = await open(bench, { fsType: 'xfs' });
  execFileSync('xfs_io', ['-x', '-c', 'shutdown', request.targetPath]);
  assert.deepEqual(await look(), ['INACCESSIBLE ReadFailed']);
  await takeDown(agent, request);
  await stage(agent, request);
  assert.deepEqual(await look(), []);
  await unstage(agent, request);
});

test('a command that cannot be killed makes the volume inaccessible until the command is gone', async () => {
  const bench = openFakeBench();
  const opened = await open(bench);
  const { promise: gone, resolve: die } = Promise.withResolvers<void>();
  let runs = 0;
  const agent = withCommands(opened.agent, () => {
    runs++;
    return { timedOut: true, gone };
  });
  const readings = createReadings(agent);
  const at = { volumeId: 'c.v', publishPath: '', stagingPath: '' };
  for (let i = 0; i < 3; i++) {
    const [fault] = await examine(agent, readings, at);
    assert.equal(fault?.reason, 'Hung');
  }
  assert.equal(runs, 1);
  assert.deepEqual(
    examineStorage(agent).map(({ message }) => message),
    ['commands that cannot be killed wait on volume "c.v"'],
  );
  die();
  await gone;
  assert.deepEqual(examineStorage(agent), []);
  assert.deepEqual(await opened.look(), []);
});
