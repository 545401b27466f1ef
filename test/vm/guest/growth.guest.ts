import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loopDevicesOf, mountsBelow } from '../../harness/machine.ts';
import { startWriting } from '../../fakes/kubelet/pod-process.ts';
import { requestFor } from '../../harness/node.ts';
import { MiB, local, startGuestNode } from './agent.ts';

test('an ext4 grows step by step while a pod writes to it, and keeps its data', async t => {
  const node = await startGuestNode(t, local);
  const { bench } = node;
  const image = bench.makeImage('image', { sizeBytes: 64 * MiB });
  const fields = node.volumeAt({
    name: 'v',
    attachment: requestFor(bench, image).attachment,
  });
  await node.bringUp(fields);
  const target = fields.target_path;
  const data = randomBytes(16 * MiB);
  writeFileSync(join(target, 'data'), data);
  writeFileSync(join(target, 'written'), '');
  const pod = await startWriting(join(target, 'written'));
  // The last size needs more group descriptors than mke2fs has reserved.
  for (const sizeBytes of [128 * MiB, 512 * MiB, 100 * 1024 * MiB]) {
    bench.resizeImage(image, sizeBytes);
    for (const _ of ['the first time', 'again']) await node.expand(fields, sizeBytes);
    const { blocks, bsize } = statfsSync(target);
    assert.ok(blocks * bsize > 0.85 * sizeBytes, `${blocks * bsize} of ${sizeBytes} bytes`);
  }
  assert.ok((await pod.finish()) > 0);
  await node.takeDown(fields);
  await node.bringUp(fields);
  assert.ok(readFileSync(join(target, 'data')).equals(data));
  await node.takeDown(fields);
  assert.deepEqual(mountsBelow(bench.directory), []);
  assert.deepEqual(loopDevicesOf(bench.directory), []);
});
