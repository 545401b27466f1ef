import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import { createReadings } from '../../../../node-agent/host/readings.ts';
import { examine, examineAll } from '../../../../node-agent/volumes/health.ts';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { toConnection } from '../../../../node-agent/volumes/device.ts';
import { reconcile } from '../../../../node-agent/volumes/reconcile.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { silentLog, type LogFields } from '../../../../src/lib/log.ts';
import type { FakeHost } from '../../../fakes/host.ts';
import {
  block,
  openFakeBench,
  openNode,
  otherVolume,
  putUp,
  startAgent,
  takeDown,
  withCommands,
  type Bench,
} from '../../../harness/node.ts';
import { openFakeShares, shareRequest } from '../../../harness/node/shares.ts';

type Fake = Bench & { readonly host: FakeHost };

const refused = { code: 'FAILED_PRECONDITION' };

/** Returns the agent after a reboot, which removes every mount and device except the machine's own. */
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

for (const [kind, change] of Object.entries({
  'a filesystem': {},
  'a block volume': { capability: block },
})) {
  const openPublished = async () => {
    const opened = await openNode(openFakeBench(), change);
    await putUp(opened.agent, opened.request);
    return opened;
  };

  test(`${kind} that did not survive a reboot is not here, and nothing waits for it or is refused because of it`, async () => {
    const { bench, request } = await openPublished();
    const agent = await reboot(bench);
    const { records } = agent;
    assert.deepEqual([records.here(), records.othersThan('c.other'), await examineAll(agent)], [[], [], []]);
    const where = { ...request, publishPath: '' };
    await assert.rejects(examine(agent, createReadings(agent), where), { code: 'NOT_FOUND' });
    await assert.rejects(publish(agent, request), { ...refused, message: /is not staged/ });
    await unpublish(agent, { ...request, volumeId: 'c.other' });
  });

  test(`${kind} is staged and published anew after a reboot, and removed afterwards`, async () => {
    const { bench, request } = await openPublished();
    const agent = await reboot(bench);
    await stage(agent, request);
    assert.deepEqual(agent.records.get('c.v')?.targets, []);
    await publish(agent, request);
    const later = await restart(bench);
    assert.equal(later.records.here().length, 1);
    await takeDown(later, request);
    assert.deepEqual(later.records.all(), []);
    assert.equal(bench.host.state.loops.size, 0);
  });

  for (const name of ['v', 'another'])
    test(`${kind} from before a reboot is unpublished, and unstaged at ${name}, as often as requested`, async () => {
      const { bench, request } = await openPublished();
      const agent = await reboot(bench);
      const stagingPath = `${bench.directory}/stage/${name}`;
      for (let tries = 0; tries < 2; tries++) await unpublish(agent, request);
      for (let tries = 0; tries < 2; tries++) await unstage(agent, { ...request, stagingPath });
      assert.deepEqual((await startAgent(bench)).records.all(), []);
    });

  test(`the device of ${kind} from before a reboot is free, and the new owner keeps it`, async () => {
    const { bench, request } = await openPublished();
    const agent = await reboot(bench);
    const other = { ...request, volumeId: 'c.w', stagingPath: `${bench.directory}/stage/w` };
    await stage(agent, other);
    await unstage(agent, request);
    assert.equal(bench.host.state.loops.size, 1);
    await publish(agent, other);
    await assert.rejects(stage(agent, request), { ...refused, message: /"c\.w"/ });
  });
}

test('mounts and connections at the start stay as they are recorded', async () => {
  const { bench, agent: before, request } = await openNode(openFakeBench());
  const raw = { ...otherVolume(bench, request), capability: block };
  for (const one of [request, raw]) await stage(before, one);
  const agent = await restart(bench);
  assert.equal(agent.records.here().length, 2);
  await publish(agent, request);
  await publish(agent, { ...raw, targetPath: `${bench.directory}/pods/raw` });
});

test('a filesystem that is mounted elsewhere keeps its device to itself', async () => {
  const { bench, agent: before, request } = await openNode(openFakeBench());
  await stage(before, request);
  const { state } = bench.host;
  state.mounts = state.mounts.map(mount => Object.assign(mount, { path: '/elsewhere' }));
  const agent = await restart(bench);
  assert.equal(agent.records.here().length, 1);
  const other = { ...request, volumeId: 'c.w', stagingPath: `${bench.directory}/stage/w` };
  await assert.rejects(stage(agent, other), refused);
});

for (const protocol of ['bind', 'nfs'] as const)
  test(`a volume over ${protocol} is here only if it is mounted`, async () => {
    const bench = openFakeShares();
    const request = shareRequest(bench, bench[protocol]('v'));
    await putUp(await startAgent(bench), request);
    assert.equal((await restart(bench)).records.here().length, 1);
    const agent = await reboot(bench);
    assert.deepEqual(agent.records.here(), []);
    await putUp(agent, request);
    assert.equal(agent.records.here().length, 1);
    const again = await reboot(bench);
    await takeDown(again, request);
    assert.deepEqual(again.records.all(), []);
  });

test('an unstaged volume whose mkfs failed is not here, and keeps its device', async () => {
  const { bench, agent, request } = await openNode(openFakeBench());
  bench.host.state.extra.set('mkfs.ext4', () => 1);
  await assert.rejects(stage(agent, request), { code: 'UNAVAILABLE' });
  await unstage(agent, request);
  const where = { ...request, publishPath: '' };
  for (const one of [agent, await restart(bench)]) {
    assert.ok(one.records.get('c.v')?.formatting);
    assert.deepEqual(one.records.here(), []);
    await assert.rejects(examine(one, createReadings(one), where), { code: 'NOT_FOUND' });
    await assert.rejects(stage(one, { ...request, volumeId: 'c.w' }), { ...refused, message: /"c\.v"/ });
  }
});

/** Opens a machine with a virtio disk, and the records of two volumes on that disk, one with a filesystem. */
async function openDisk() {
  const { bench, agent, request } = await openNode(openFakeBench());
  const { stagingPath, capability } = request;
  const common = { attachmentId: 'a', sizeBytes: 1024, readonly: false, mayFormat: true };
  const attachment = { protocol: 'device', serial: 'S', ...common } as const;
  await agent.records.put({ volumeId: 'c.v', attachment, stagingPath, capability, targets: [] });
  await agent.records.put({ volumeId: 'c.raw', attachment, stagingPath, capability: block, targets: [] });
  const { state } = bench.host;
  // A separate sequence number, because the answers of virtio disks are cached by it.
  state.loops.set(0, { backing: '/x', readonly: false, sizeBytes: 1024, diskseq: 4_711 });
  state.paths.set('/sys/dev/block/7:0/serial', 'file');
  const here = () => agent.records.here().map(({ volumeId }) => volumeId);
  return { agent, here };
}

test('a disk that does not answer does not delay the start, and its volumes stay recorded', async () => {
  const { agent, here } = await openDisk();
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const run: FakeHost['run'] = async () => {
    await answered;
    return { status: undefined, stdout: '', stderr: '', timedOut: false, fault: 'ENOENT' };
  };
  await reconcile({ ...agent, host: { ...agent.host, run } }, silentLog);
  assert.deepEqual(here(), ['c.v', 'c.raw']);
  answer();
  await answered;
});

test("a filesystem on a cloud's disk is not here after a reboot, though the disk reappears", async () => {
  const { agent, here } = await openDisk();
  const answering = withCommands(agent, command =>
    command === 'cat' ? { status: 0, stdout: 'S' } : undefined,
  );
  await reconcile(answering, silentLog);
  assert.deepEqual(here(), ['c.raw']);
});

test('one line has the number of recorded volumes that are not here, and there is none if all are', async () => {
  const { bench, agent, request } = await openNode(openFakeBench());
  const lines: (readonly [string, LogFields | undefined])[] = [];
  const log = { ...silentLog, info: (text: string, fields?: LogFields) => void lines.push([text, fields]) };
  await stage(agent, request);
  await reconcile(await startAgent(bench), log);
  assert.deepEqual(lines, []);
  bench.host.state.mounts = [];
  bench.host.state.loops.clear();
  await reconcile(await startAgent(bench), log);
  const text = 'recorded volumes are no longer on this node, as after a reboot';
  assert.deepEqual(lines, [[text, { count: 1 }]]);
});

test('an agent that starts again recognizes the devices of its records without a command', async () => {
  const { bench, agent, request } = await openNode(openFakeBench());
  await putUp(agent, request);
  // The proofs of the earlier process do not count for a device with another sequence number.
  for (const [index, device] of bench.host.state.loops)
    bench.host.state.loops.set(index, { ...device, diskseq: device.diskseq + 1_000 });
  const device = agent.records.get('c.v')?.device ?? assert.fail();
  await agent.records.noteConnection('c.v', await toConnection(device, bench.host));
  const again = withCommands(await restart(bench), command => assert.fail(`"${command}" was run`));
  assert.deepEqual(await examineAll(again), [{ volumeId: 'c.v', faults: [] }]);
});
