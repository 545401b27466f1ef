import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runNode } from '../../harness/node/program.ts';
import { noRoot, testAsRoot } from '../../harness/machine.ts';
import type { VolumeSpec } from '../../fakes/kubelet/paths.ts';
import { startWriting } from '../../fakes/kubelet/pod-process.ts';
import { findMissing, until } from '../../harness/node.ts';

const MiB = 1024 * 1024;
/** Enlarges the volume's file, as the gateway does for the controller. */
function grow(volume: VolumeSpec, sizeBytes: number): void {
  truncateSync(volume.publishContext['path'] ?? '', sizeBytes);
}

for (const fsType of ['xfs', 'btrfs'] as const) {
  const skip = noRoot || findMissing([`mkfs.${fsType}`]) || false;
  test(`a ${fsType} is expanded under a pod that writes and a pod that reads`, { skip }, async t => {
    const { node, kubelet, drain } = await runNode(t);
    const volume: VolumeSpec = { ...node.makeVolume('v', { sizeBytes: 320 * MiB }), fsType };
    for (const uid of ['pod-1', 'pod-2']) await kubelet.runPod({ uid, volumes: [volume] });
    const path = join(kubelet.paths.target(volume, 'pod-2'), 'file');
    writeFileSync(path, '');
    const writer = await startWriting(path);
    const before = sizeOf(kubelet.paths.target(volume, 'pod-1'));
    grow(volume, 480 * MiB);
    await kubelet.expandVolume(volume, 480 * MiB);
    for (const uid of ['pod-1', 'pod-2'])
      assert.ok(sizeOf(kubelet.paths.target(volume, uid)) > before + 100 * MiB);
    await kubelet.expandVolume(volume, 480 * MiB);
    assert.ok((await writer.finish()) > 0);
    assert.deepEqual(expansionsIn(kubelet.failures), []);
    await drain();
  });
}

testAsRoot('a block volume is expanded under a pod that writes, once its device has grown', async t => {
  const { node, kubelet, drain } = await runNode(t);
  const volume = node.makeVolume('raw', { mode: 'Block' });
  await kubelet.runPod({ uid: 'pod', volumes: [volume] });
  const device = kubelet.paths.deviceLink(volume, 'pod');
  const writer = await startWriting(device);
  const expanded = kubelet.expandVolume(volume, 96 * MiB);
  await until(() => expansionsIn(kubelet.failures).length > 0);
  const [failure = ''] = expansionsIn(kubelet.failures);
  assert.match(failure, /has 67108864 bytes and not yet the required 100663296/);
  grow(volume, 96 * MiB);
  await expanded;
  assert.equal(Number(execFileSync('blockdev', ['--getsize64', device], { encoding: 'utf8' })), 96 * MiB);
  assert.ok((await writer.finish()) > 0);
  await drain();
});

testAsRoot('an ext4 grows under its pod, or at the next stage where the agent may not', async t => {
  const { node, kubelet, drain } = await runNode(t);
  const volume = node.makeVolume('v');
  await kubelet.runPod({ uid: 'pod', volumes: [volume] });
  const before = sizeOf(kubelet.paths.target(volume, 'pod'));
  grow(volume, 128 * MiB);
  if (mayUse(24n)) await kubelet.expandVolume(volume, 128 * MiB);
  else {
    const expanded = kubelet.expandVolume(volume, 128 * MiB);
    await assert.rejects(expanded, /CAP_SYS_RESOURCE.*when the volume is next staged/);
    assert.equal(expansionsIn(kubelet.failures).length, 1);
    await kubelet.removePod('pod');
    await kubelet.runPod({ uid: 'pod', volumes: [volume] });
  }
  assert.ok(sizeOf(kubelet.paths.target(volume, 'pod')) > before + 50 * MiB);
  await drain();
});

/**
 * Lists the expansions that the driver refused; kubelet may miss the driver for a moment while it registers it anew.
 */
function expansionsIn(failures: readonly string[]): readonly string[] {
  return failures.filter(
    failure => failure.startsWith('NodeExpandVolume') && !failure.includes('not found in'),
  );
}

function sizeOf(path: string): number {
  const { blocks, bsize } = statfsSync(path);
  return blocks * bsize;
}

/** Returns true if this process, and so its agent, has a capability (capabilities(7)). */
function mayUse(bit: bigint): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> bit) & 1n) === 1n;
}
