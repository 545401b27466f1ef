import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectCsi } from '../../../src/csi/client.ts';
import { assertNothingLeft, driverName, openNode } from '../../harness/agent.ts';
import { startWriting } from '../../kubelet/pod-process.ts';

const MiB = 2 ** 20;

test('an ext4 grows while a pod writes to it, step by step, and keeps its data', async t => {
  const node = openNode(t);
  node.startAgent();
  const kubelet = node.startKubelet();
  await kubelet.plugins.registered(driverName);
  const volume = node.makeVolume('ext4', { sizeBytes: 64 * MiB });
  await kubelet.runPod({ uid: 'pod-1', volumes: [volume] });
  const target = kubelet.paths.target(volume, 'pod-1');
  const data = randomBytes(16 * MiB);
  writeFileSync(join(target, 'data'), data);
  writeFileSync(join(target, 'written'), '');
  const pod = await startWriting(join(target, 'written'));
  const client = connectCsi(`unix://${node.socket}`);
  t.after(() => client.close());
  for (const sizeBytes of [128 * MiB, 512 * MiB]) {
    truncateSync(volume.publishContext['path'] ?? '', sizeBytes);
    const request = {
      volume_id: volume.handle,
      volume_path: target,
      capacity_range: { required_bytes: sizeBytes },
    };
    for (const _ of ['the first time', 'again'])
      assert.equal(Number((await client.node.NodeExpandVolume(request)).capacity_bytes), sizeBytes);
    const { blocks, bsize } = statfsSync(target);
    assert.ok(blocks * bsize > 0.85 * sizeBytes, `${blocks * bsize} of ${sizeBytes} bytes`);
  }
  assert.ok((await pod.finish()) > 0);
  assert.equal(hashOf(readFileSync(join(target, 'data'))), hashOf(data));
  await kubelet.removePod('pod-1');
  assert.deepEqual(kubelet.failures, []);
  await kubelet.runPod({ uid: 'pod-2', volumes: [volume] });
  const again = kubelet.paths.target(volume, 'pod-2');
  assert.equal(hashOf(readFileSync(join(again, 'data'))), hashOf(data));
  await kubelet.removePod('pod-2');
  assertNothingLeft(node);
});

function hashOf(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}
