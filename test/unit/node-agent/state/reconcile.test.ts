import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import { createReadings } from '../../../../node-agent/host/readings.ts';
import { examine, examineAll } from '../../../../node-agent/volumes/health.ts';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { reconcile } from '../../../../node-agent/state/reconcile.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { silentLog, type LogFields } from '../../../../src/lib/log.ts';
import type { FakeHost } from '../../../fakes/host.ts';
import { openFakeBench, requestFor, startAgent, type Bench } from '../../../harness/node-agent-bench.ts';
import { openFakeShares, shareRequest } from '../../../harness/node-agent-share-bench.ts';

type Fake = Bench & { readonly host: FakeHost };

/** The agent after a reboot, which takes every mount and device but those of the machine itself. */
async function reboot(bench: Fake): Promise<Agent> {
  const { state } = bench.host;
  state.mounts = state.mounts.filter(({ path }) => !path.startsWith(`${bench.directory}/`));
  state.loops.clear();
  return restart(bench);
}

async function restart(bench: Bench): Promise<Agent> {
  const agent = await startAgent(bench);
  await reconcile(agent, silentLog);
  return agent;
}

const block = { capability: { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } } as const;

const kinds = {
  'a filesystem': (bench: Fake) => requestFor(bench, bench.makeImage('v')),
  'a block volume': (bench: Fake) => ({ ...requestFor(bench, bench.makeImage('v')), ...block }),
};

for (const [kind, request] of Object.entries(kinds)) {
  test(`${kind} that did not outlive a reboot is not here, and nobody waits for it or is refused for it`, async () => {
    const bench = openFakeBench();
    const asked = request(bench);
    const before = await startAgent(bench);
    await stage(before, asked);
    await publish(before, asked);
    const agent = await reboot(bench);
    const { records } = agent;
    assert.deepEqual(records.here(), []);
    assert.deepEqual(await examineAll(agent), []);
    const { volumeId, stagingPath } = asked;
    const where = { volumeId, stagingPath, publishPath: '' };
    await assert.rejects(examine(agent, createReadings(agent), where), { code: 'NOT_FOUND' });
    await assert.rejects(publish(agent, asked), { code: 'FAILED_PRECONDITION', message: /is not staged/ });
    assert.deepEqual(records.othersThan('c.other'), []);
    await unpublish(agent, { volumeId: 'c.other', targetPath: asked.targetPath });
  });

  test(`${kind} is staged and published anew after a reboot, and taken away then`, async () => {
    const bench = openFakeBench();
    const asked = request(bench);
    const before = await startAgent(bench);
    await stage(before, asked);
    await publish(before, asked);
    const agent = await reboot(bench);
    await stage(agent, asked);
    assert.deepEqual(agent.records.get('c.v')?.targets, []);
    await publish(agent, asked);
    assert.equal(agent.records.here().length, 1);
    const later = await restart(bench);
    assert.equal(later.records.here().length, 1);
    await unpublish(later, asked);
    await unstage(later, asked);
    assert.deepEqual(later.records.all(), []);
    assert.equal(bench.host.state.loops.size, 0);
  });

  for (const path of ['the same path', 'another path'])
    test(`${kind} of before a reboot is unpublished, and unstaged at ${path}, as often as asked for`, async () => {
      const bench = openFakeBench();
      const asked = request(bench);
      const before = await startAgent(bench);
      await stage(before, asked);
      await publish(before, asked);
      const agent = await reboot(bench);
      const stagingPath = path === 'the same path' ? asked.stagingPath : `${bench.directory}/stage/w`;
      for (let tries = 0; tries < 2; tries++) await unpublish(agent, asked);
      for (let tries = 0; tries < 2; tries++) await unstage(agent, { ...asked, stagingPath });
      assert.deepEqual(agent.records.all(), []);
      assert.deepEqual((await startAgent(bench)).records.all(), []);
    });

  test(`the device of ${kind} of before a reboot is free, and the new owner keeps it`, async () => {
    const bench = openFakeBench();
    const asked = request(bench);
    await stage(await startAgent(bench), asked);
    const agent = await reboot(bench);
    const other = { ...asked, volumeId: 'c.w', stagingPath: `${bench.directory}/stage/w` };
    await stage(agent, other);
    await unstage(agent, asked);
    assert.equal(bench.host.state.loops.size, 1);
    await publish(agent, other);
    await assert.rejects(stage(agent, asked), { code: 'FAILED_PRECONDITION', message: /"c\.w"/ });
  });
}

test('what is mounted or connected at the start stays as it is recorded', async () => {
  const bench = openFakeBench();
  const one = requestFor(bench, bench.makeImage('v'));
  const raw = {
    ...requestFor(bench, bench.makeImage('raw')),
    ...block,
    volumeId: 'c.raw',
    stagingPath: `${bench.directory}/stage/raw`,
  };
  const before = await startAgent(bench);
  await stage(before, one);
  await stage(before, raw);
  const agent = await restart(bench);
  assert.equal(agent.records.here().length, 2);
  await publish(agent, one);
  await publish(agent, { ...raw, targetPath: `${bench.directory}/pods/raw` });
});

test('a filesystem that is mounted elsewhere keeps its device to itself', async () => {
  const bench = openFakeBench();
  const asked = requestFor(bench, bench.makeImage('v'));
  await stage(await startAgent(bench), asked);
  const { state } = bench.host;
  state.mounts = state.mounts.map(mount => Object.assign(mount, { path: '/elsewhere' }));
  const agent = await restart(bench);
  assert.equal(agent.records.here().length, 1);
  const other = { ...asked, volumeId: 'c.w', stagingPath: `${bench.directory}/stage/w` };
  await assert.rejects(stage(agent, other), { code: 'FAILED_PRECONDITION' });
});

for (const protocol of ['bind', 'nfs'] as const)
  test(`a volume over ${protocol} is here when it is mounted, and else is not`, async () => {
    const bench = openFakeShares();
    const asked = shareRequest(bench, bench[protocol]('v'));
    const before = await startAgent(bench);
    await stage(before, asked);
    await publish(before, asked);
    assert.equal((await restart(bench)).records.here().length, 1);
    const agent = await reboot(bench);
    assert.deepEqual(agent.records.here(), []);
    await stage(agent, asked);
    await publish(agent, asked);
    assert.equal(agent.records.here().length, 1);
    const again = await reboot(bench);
    await unpublish(again, asked);
    await unstage(again, asked);
    assert.deepEqual(again.records.all(), []);
  });

test('a volume whose mkfs failed and that was unstaged is not here, and holds on to its device', async () => {
  const bench = openFakeBench();
  const asked = requestFor(bench, bench.makeImage('v'));
  const agent = await startAgent(bench);
  bench.host.state.extra.set('mkfs.ext4', () => 1);
  await assert.rejects(stage(agent, asked), { code: 'UNAVAILABLE' });
  await unstage(agent, asked);
  const { volumeId, stagingPath } = asked;
  const where = { volumeId, stagingPath, publishPath: '' };
  for (const one of [agent, await restart(bench)]) {
    assert.ok(one.records.get('c.v')?.formatting);
    assert.deepEqual(one.records.here(), []);
    await assert.rejects(examine(one, createReadings(one), where), { code: 'NOT_FOUND' });
    const other = { ...asked, volumeId: 'c.w' };
    await assert.rejects(stage(one, other), { code: 'FAILED_PRECONDITION', message: /"c\.v"/ });
  }
});

test('a disk that does not answer does not hold up the start, and its volume stays recorded', async () => {
  const bench = openFakeBench();
  const { stagingPath } = requestFor(bench, '');
  const common = { attachmentId: 'a', sizeBytes: 1024, readonly: false, mayFormat: true };
  const attachment = { protocol: 'device', serial: 'S', ...common } as const;
  const { records } = await startAgent(bench);
  await records.put({ volumeId: 'c.v', attachment, stagingPath, ...block, targets: [] });
  const { state } = bench.host;
  state.loops.set(0, { backing: '/x', readonly: false, sizeBytes: 1024, diskseq: 1 });
  state.paths.set('/sys/dev/block/7:0/serial', 'file');
  const released = Promise.withResolvers<void>();
  const run: FakeHost['run'] = async (...args) => {
    await released.promise;
    return bench.host.run(...args);
  };
  const agent = await startAgent(bench);
  await reconcile({ ...agent, host: { ...agent.host, run } }, silentLog);
  assert.equal(agent.records.here().length, 1);
  released.resolve();
});

test("a filesystem on a cloud's disk is not here after a reboot, though the disk is back by itself", async () => {
  const bench = openFakeBench();
  const { stagingPath, capability } = requestFor(bench, '');
  const common = { attachmentId: 'a', sizeBytes: 1024, readonly: false, mayFormat: true };
  const attachment = { protocol: 'device', serial: 'S', ...common } as const;
  const { records } = await startAgent(bench);
  await records.put({ volumeId: 'c.v', attachment, stagingPath, capability, targets: [] });
  await records.put({ volumeId: 'c.raw', attachment, stagingPath, ...block, targets: [] });
  const { state } = bench.host;
  state.loops.set(0, { backing: '/x', readonly: false, sizeBytes: 1024, diskseq: 4_711 });
  state.paths.set('/sys/dev/block/7:0/serial', 'file');
  const run: FakeHost['run'] = async (command, ...rest) =>
    command === 'cat'
      ? { status: 0, stdout: 'S', stderr: '', timedOut: false, missing: false }
      : bench.host.run(command, ...rest);
  const agent = await startAgent(bench);
  await reconcile({ ...agent, host: { ...agent.host, run } }, silentLog);
  assert.deepEqual(
    agent.records.here().map(({ volumeId }) => volumeId),
    ['c.raw'],
  );
});

test('how many volumes are recorded and not here is one line, and none when all are', async () => {
  const bench = openFakeBench();
  const lines: (readonly [string, LogFields | undefined])[] = [];
  const log = { ...silentLog, info: (text: string, fields?: LogFields) => void lines.push([text, fields]) };
  const agent = await startAgent(bench);
  await stage(agent, requestFor(bench, bench.makeImage('v')));
  await reconcile(await startAgent(bench), log);
  assert.deepEqual(lines, []);
  bench.host.state.mounts = [];
  bench.host.state.loops.clear();
  await reconcile(await startAgent(bench), log);
  assert.deepEqual(lines, [
    ['volumes are recorded that are not here any more, as after a reboot', { count: 1 }],
  ]);
});
