import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CsiClient } from '../../../../src/csi/client.ts';
import { countAbandoned } from '../../../../src/lib/exec.ts';
import { mountsBelow } from '../../../harness/machine.ts';
import { MiB, openRealBench, until, realFuse } from '../../../harness/node.ts';
import { untilDone } from '../mortal-agent.ts';
import { putUp, serveNode, takeDown } from '../../../harness/node/served.ts';
import { coverTargets, hasty, volumeOf, type CopiedVolume } from '../hung-volumes.ts';

test('fifty hung volumes stall only themselves, and are unmounted once unpublished', realFuse, async t => {
  const bench = openRealBench(t);
  const client = await serveNode(t, bench.directory, { flags: hasty(bench.directory) });
  const path = bench.makeImage('image', { sizeBytes: 16 * MiB, content: 'ext4' });
  const volumes = Array.from({ length: 50 }, (_, index) => volumeOf(bench, path, `v${index}`));
  for (const volume of volumes) await putUp(client, volume);
  const fuse = await coverTargets(t, volumes);
  for (const volume of volumes) await assertUsage(client, volume);

  await fuse.hang();
  const askAll = () =>
    Promise.all(volumes.flatMap(volume => [assertUsage(client, volume), assertHung(client, volume)]));
  const asked = askAll();
  for (let i = 0; i < 20; i++) await client.identity.Probe({});
  const healthy = volumeOf(bench, path, 'healthy');
  await putUp(client, healthy);
  await takeDown(client, healthy);
  await asked;

  await until(() => countAbandoned() === 50);
  await askAll();
  const first = volumes[0] ?? assert.fail();
  await assert.rejects(client.node.NodePublishVolume({ ...first, target_path: `${first.target_path}-2` }), {
    code: 'UNAVAILABLE',
    message: /volume "c\.v0" hangs: NodeGetVolumeStats has been waiting since \d{4}-\S+ on "stat /,
  });
  assert.equal(countAbandoned(), 50);

  await Promise.all(volumes.map(volume => client.node.NodeUnpublishVolume(volume)));
  await until(() => countAbandoned() === 0);
  // A busy machine may not detach a device within the two seconds that a command has here.
  const connected = { client: async () => client };
  for (const volume of volumes) await untilDone(connected, ({ node }) => node.NodeUnstageVolume(volume));
  assert.deepEqual(mountsBelow(bench.directory), []);
});

async function assertUsage(client: CsiClient, volume: CopiedVolume): Promise<void> {
  const { usage } = await client.node.NodeGetVolumeStats(volume);
  assert.deepEqual(usage[0], { total: '409600', used: '163840', available: '204800', unit: 'BYTES' });
}

async function assertHung(client: CsiClient, volume: CopiedVolume): Promise<void> {
  const { volume_id, target_path: volume_publish_path } = volume;
  const answer = await client.node.NodeGetVolumeHealth({ volume_id, volume_publish_path });
  const [entry] = answer.volume_health?.health_statuses ?? [];
  assert.deepEqual([entry?.status, entry?.reason], ['INACCESSIBLE', 'Hung']);
}
