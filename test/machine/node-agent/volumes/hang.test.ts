import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test, type TestContext } from 'node:test';
import type { CsiClient } from '../../../../src/csi/client.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { countAbandoned } from '../../../../src/lib/exec.ts';
import { mountFuse } from '../../../harness/node-agent-fuse.ts';
import { MiB, openRealBench, until, realFuse, type Bench } from '../../../harness/node-agent-bench.ts';
import { serveBench, volumeOf } from '../served.ts';

const usual = { total: '409600', used: '163840', available: '204800' };

test(
  'fifty hung volumes stall themselves alone, and come off once they are unpublished',
  realFuse,
  async t => {
    const bench = openRealBench(t);
    const { client, close } = await serveBench(bench);
    t.after(close);
    const image = bench.makeImage('image', { sizeBytes: 16 * MiB, content: 'ext4' });
    const volumes = Array.from({ length: 50 }, (_, index) => volumeOf(bench, image, `v${index}`));
    const healthy = volumeOf(bench, image, 'healthy');
    for (const volume of volumes) await bringUp(client, volume);
    const calmMs = await timed(() => cycle(client, healthy));
    const fuse = await coverTargets(t, volumes);
    for (const volume of volumes) await assertUsage(client, volume);

    await fuse.hang();
    const asked = volumes.map(volume => timed(() => assertUsage(client, volume)));
    const examined = volumes.map(volume => timed(() => assertHung(client, volume)));
    const probesMs: number[] = [];
    for (let i = 0; i < 20; i++) probesMs.push(await timed(() => client.identity.Probe({})));
    const cycleMs = await timed(() => cycle(client, healthy));
    const slowestMs = Math.max(...(await Promise.all([...asked, ...examined])));

    await until(() => countAbandoned() === 50);
    const againMs = await timed(() =>
      Promise.all(volumes.flatMap(volume => [assertUsage(client, volume), assertHung(client, volume)])),
    );
    const [first] = volumes;
    assert.ok(first);
    await assert.rejects(client.node.NodePublishVolume({ ...first, target_path: `${first.target_path}-2` }), {
      code: 'UNAVAILABLE',
      message: /volume "c\.v0" hangs: NodeGetVolumeStats waits since \d{4}-\S+ on "stat /,
    });
    assert.equal(countAbandoned(), 50);

    const offMs = await timed(() =>
      Promise.all(volumes.map(volume => client.node.NodeUnpublishVolume(volume))),
    );
    await until(() => countAbandoned() === 0);
    for (const volume of volumes) await client.node.NodeUnstageVolume(volume);
    assert.deepEqual(mountedBelow(bench), []);
    t.diagnostic(
      `probe up to ${ms(Math.max(...probesMs))}, stats and health up to ${ms(slowestMs)}, again all ${ms(againMs)}, ` +
        `healthy cycle ${ms(cycleMs)} (calm ${ms(calmMs)}), 50 unpublished in ${ms(offMs)}`,
    );
  },
);

test(
  'a volume that hangs when it is first measured says so, and recovers once it answers',
  realFuse,
  async t => {
    const bench = openRealBench(t);
    const { client, close } = await serveBench(bench);
    t.after(close);
    const volume = volumeOf(bench, bench.makeImage('image', { sizeBytes: 16 * MiB, content: 'ext4' }), 'v');
    await bringUp(client, volume);
    const fuse = await coverTargets(t, [volume]);
    await fuse.hang();
    const refuse = () =>
      assert.rejects(client.node.NodeGetVolumeStats(volume), {
        code: 'UNAVAILABLE',
        message: /volume "c\.v" hangs: NodeGetVolumeStats waits on "stat /,
      });
    await Promise.all([refuse(), assertHung(client, volume)]);
    await fuse.end();
    await bench.host.run('umount', ['--lazy', '--', volume.target_path]);
    await until(() => countAbandoned() === 0);
    const asked = await poll(() => client.node.NodeGetVolumeStats(volume).catch(() => undefined), {
      everyMs: 100,
      timeoutMs: 60_000,
    });
    assert.equal(asked?.usage.length, 2);
    await client.node.NodeUnpublishVolume(volume);
    await client.node.NodeUnstageVolume(volume);
  },
);

type Volume = ReturnType<typeof volumeOf>;

async function bringUp(client: CsiClient, volume: Volume): Promise<void> {
  await client.node.NodeStageVolume(volume);
  await client.node.NodePublishVolume(volume);
}

async function cycle(client: CsiClient, volume: Volume): Promise<void> {
  await bringUp(client, volume);
  await client.node.NodeUnpublishVolume(volume);
  await client.node.NodeUnstageVolume(volume);
}

async function assertUsage(client: CsiClient, volume: Volume): Promise<void> {
  const { usage } = await client.node.NodeGetVolumeStats(volume);
  assert.deepEqual(usage[0], { ...usual, unit: 'BYTES' });
}

async function assertHung(client: CsiClient, volume: Volume): Promise<void> {
  const { volume_id, target_path: volume_publish_path } = volume;
  const answer = await client.node.NodeGetVolumeHealth({ volume_id, volume_publish_path });
  const [entry] = answer.volume_health?.health_statuses ?? [];
  assert.deepEqual([entry?.status, entry?.reason], ['INACCESSIBLE', 'Hung']);
}

/** Covers the targets with filesystems that name the volumes' devices as their source, and so pass for the volumes. */
function coverTargets(t: TestContext, volumes: readonly Volume[]) {
  return mountFuse(
    t,
    volumes.map(({ publish_context: { path = '' }, target_path: target }) => ({ image: path, target })),
  );
}

function mountedBelow({ directory }: Bench): readonly string[] {
  const all = execFileSync('cat', ['/proc/self/mountinfo'], { encoding: 'utf8' });
  return all.split('\n').filter(line => line.includes(`${directory}/`));
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}
