import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { createReadings } from '../../../../node-agent/host/readings.ts';
import { examineAll } from '../../../../node-agent/volumes/health.ts';
import { readMetrics } from '../../../harness/node/metrics.ts';
import { runNode } from '../../../harness/node/program.ts';
import { mountFuse, type HangingFuse } from '../../../harness/node/fuse.ts';
import { openFakeBench, openNode, putUp, realFuse, takeDown, withCommands } from '../../../harness/node.ts';
import { clientOf } from '../../../harness/csi-serving.ts';

test('a hanging volume shows in the metrics with its command, and recovers', realFuse, async t => {
  const covers: HangingFuse[] = [];
  // The first clean-up, because unmounting a hanging filesystem would wait forever.
  t.after(() => covers.forEach(cover => cover.end()));
  const { node, agent, kubelet, drain } = await runNode(t, { 'metrics-listen': '127.0.0.1:0' });
  const url = `http://${(await agent.ready)['metrics']}/metrics`;
  const [hung, well] = [node.makeVolume('hung'), node.makeVolume('well')];
  await kubelet.runPod({ uid: 'pod', volumes: [hung, well] });
  const lines = [
    'fairlead_node_stuck_children 0',
    'fairlead_node_volume_healthy{volume_id="c.hung"} 1',
    'fairlead_node_volume_healthy{volume_id="c.well"} 1',
  ];
  await readMetrics(url, lines);
  const target = kubelet.paths.target(hung, 'pod');
  const fuse = await mountFuse(t, [{ image: hung.publishContext['path'] ?? '', target }]);
  covers.push(fuse);
  const client = clientOf(t, node.socket);
  const request = { volume_id: 'c.hung', volume_path: target };
  await client.node.NodeGetVolumeStats(request);
  await fuse.hang();
  await client.node.NodeGetVolumeStats(request);
  await readMetrics(url, [
    'fairlead_node_stuck_children 1',
    'fairlead_node_volume_healthy{volume_id="c.hung"} 0',
    'fairlead_node_volume_faults{volume_id="c.hung",reason="Hung"} 1',
    'fairlead_node_volume_healthy{volume_id="c.well"} 1',
  ]);
  await fuse.end();
  await readMetrics(url, ['fairlead_node_stuck_children 0']);
  execFileSync('umount', ['--lazy', '--', target]);
  await client.node.NodeGetVolumeStats(request);
  assert.doesNotMatch(await readMetrics(url, lines), /volume_faults\{/);
  await drain();
});

async function openPublished() {
  const { bench, agent, request: made } = await openNode(openFakeBench(), { image: { content: 'ext4' } });
  const request = { ...made, volumeId: 'c."odd"\n\\v' };
  await putUp(agent, request);
  return { bench, request, agent };
}

test('the state of volumes is found without a command, which a hanging volume would block: from mounts, devices and the last reading', async () => {
  const { bench, request, agent } = await openPublished();
  const { volumeId } = request;
  const look = () => examineAll(withCommands(agent, () => assert.fail('a command was run')));
  assert.deepEqual(await look(), [{ volumeId, faults: [] }]);

  const readings = createReadings(agent);
  const reading = { volumeId, operation: 'NodeGetVolumeStats', command: 'stat', args: ['/nowhere'] };
  await readings(reading);
  assert.deepEqual(await look(), [{ volumeId, faults: ['ReadFailed'] }]);
  await readings({ ...reading, args: [request.targetPath] });
  assert.deepEqual(await look(), [{ volumeId, faults: [] }]);

  const staged = bench.host.state.mounts[0] ?? assert.fail();
  bench.host.state.mounts[0] = { ...staged, superOptions: ['ro'] };
  assert.deepEqual(await look(), [{ volumeId, faults: ['TurnedReadOnly'] }]);
  bench.host.state.loops.clear();
  assert.deepEqual(await look(), [{ volumeId, faults: ['DeviceGone'] }]);
  bench.host.state.mounts = [];
  assert.deepEqual(await look(), [{ volumeId, faults: ['NotMounted'] }]);
});

test('a volume that is gone, or never came, has no state', async () => {
  const { request, agent } = await openPublished();
  await takeDown(agent, request);
  assert.deepEqual(await examineAll(agent), []);
  const { attachment, capability } = request;
  await agent.records.put({
    volumeId: 'c.w',
    stagingPath: '/bench/stage/w',
    attachment,
    capability,
    targets: [],
  });
  assert.deepEqual(await examineAll(agent), []);
});

test('a volume whose device cannot be examined is reported, and hides no other', async () => {
  const { request, agent } = await openPublished();
  const readText: typeof agent.host.readText = async path => {
    if (path.startsWith('/sys/dev/block/')) throw Object.assign(new Error('i/o error'), { code: 'EIO' });
    return agent.host.readText(path);
  };
  const standing = await examineAll({ ...agent, host: { ...agent.host, readText } });
  assert.deepEqual(standing, [{ volumeId: request.volumeId, faults: ['ReadFailed'] }]);
});
