import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CsiClient } from '../../../../src/csi/client.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { countAbandoned } from '../../../../src/lib/exec.ts';
import { mountsBelow } from '../../../harness/machine.ts';
import { MiB, openRealBench, until, realFuse } from '../../../harness/node-agent-bench.ts';
import { coverTargets, putUp, serveBench, takeDown, volumeOf, type ServedVolume } from '../served.ts';

const image = { sizeBytes: 16 * MiB, content: 'ext4' };

test(
  'fifty hung volumes stall themselves alone, and come off once they are unpublished',
  realFuse,
  async t => {
    const bench = openRealBench(t);
    const client = await serveBench(t, bench);
    const path = bench.makeImage('image', image);
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
      message: /volume "c\.v0" hangs: NodeGetVolumeStats waits since \d{4}-\S+ on "stat /,
    });
    assert.equal(countAbandoned(), 50);

    await Promise.all(volumes.map(volume => client.node.NodeUnpublishVolume(volume)));
    await until(() => countAbandoned() === 0);
    for (const volume of volumes) await client.node.NodeUnstageVolume(volume);
    assert.deepEqual(mountsBelow(bench.directory), []);
  },
);

test(
  'a volume that hangs when it is first measured says so, and recovers once it answers',
  realFuse,
  async t => {
    const bench = openRealBench(t);
    const client = await serveBench(t, bench);
    const volume = volumeOf(bench, bench.makeImage('image', image), 'v');
    await putUp(client, volume);
    const fuse = await coverTargets(t, [volume]);
    await fuse.hang();
    const refused = assert.rejects(client.node.NodeGetVolumeStats(volume), {
      code: 'UNAVAILABLE',
      message: /volume "c\.v" hangs: NodeGetVolumeStats waits on "stat /,
    });
    await Promise.all([refused, assertHung(client, volume)]);
    await fuse.end();
    await bench.host.run('umount', ['--lazy', '--', volume.target_path]);
    await until(() => countAbandoned() === 0);
    const look = () => client.node.NodeGetVolumeStats(volume).catch(() => undefined);
    const asked = await poll(look, { everyMs: 100, timeoutMs: 60_000 });
    assert.equal(asked?.usage.length, 2);
    await takeDown(client, volume);
  },
);

async function assertUsage(client: CsiClient, volume: ServedVolume): Promise<void> {
  const { usage } = await client.node.NodeGetVolumeStats(volume);
  assert.deepEqual(usage[0], { total: '409600', used: '163840', available: '204800', unit: 'BYTES' });
}

async function assertHung(client: CsiClient, volume: ServedVolume): Promise<void> {
  const { volume_id, target_path: volume_publish_path } = volume;
  const answer = await client.node.NodeGetVolumeHealth({ volume_id, volume_publish_path });
  const [entry] = answer.volume_health?.health_statuses ?? [];
  assert.deepEqual([entry?.status, entry?.reason], ['INACCESSIBLE', 'Hung']);
}
