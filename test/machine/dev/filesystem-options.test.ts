import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectCsi } from '../../../src/csi/client.ts';
import { startDev } from '../../harness/dev.ts';
import { makeTemporaryDirectory, noRoot, removeTemporaryDirectory } from '../../harness/machine.ts';

const access_mode = { mode: 'SINGLE_NODE_WRITER' } as const;
const ext4 = { mount: { fs_type: 'ext4' }, access_mode };

test(
  "a StorageClass's options reach the filesystem on the node, and bad ones no volume",
  { skip: noRoot },
  async t => {
    const dir = makeTemporaryDirectory();
    const ends: (() => unknown)[] = [() => removeTemporaryDirectory(dir)];
    t.after(async () => {
      for (const end of ends.toReversed()) await end();
    });
    const dev = await startDev({ dir: join(dir, 'dev') });
    ends.push(() => dev.end());
    const { controller, close } = connectCsi(dev.controller);
    const node = connectCsi(dev.node);
    ends.push(close, node.close);
    const base = {
      name: 'labelled',
      capacity_range: { required_bytes: 64 * 1024 * 1024 },
      volume_capabilities: [ext4],
      parameters: { 'fs.label': 'from-class', 'fs.blockSize': '1024' },
    };

    const refused = [
      { change: { parameters: { 'fs.blockSize': '3' } }, message: /"fs\.blockSize" for ext4 is not one of/ },
      {
        change: { parameters: { 'fs.checksum': 'xxhash' } },
        message: /"fs\.checksum" is not known for ext4/,
      },
      {
        change: { volume_capabilities: [{ ...ext4, mount: { fs_type: 'ntfs' } }] },
        message: /"ntfs" is not one of/,
      },
      { change: { volume_capabilities: [{ block: {}, access_mode }] }, message: /a block volume gets none/ },
    ];
    for (const { change, message } of refused)
      await assert.rejects(controller.CreateVolume({ ...base, ...change }), {
        code: 'INVALID_ARGUMENT',
        message,
      });
    assert.deepEqual((await controller.ListVolumes({})).entries, []);

    const { volume } = await controller.CreateVolume(base);
    assert.ok(volume);
    const { volume_id, volume_context } = volume;
    const asked = { volume_id, volume_context, volume_capability: ext4 };
    const { publish_context } = await controller.ControllerPublishVolume({ ...asked, node_id: dev.nodeId });
    const staging_target_path = join(dir, 'staging');
    mkdirSync(staging_target_path);
    await node.node.NodeStageVolume({ ...asked, publish_context, staging_target_path });
    const found = execFileSync('blkid', ['-p', '-o', 'export', '--', publish_context['path'] ?? ''], {
      encoding: 'utf8',
    });
    assert.match(found, /^LABEL=from-class$/m);
    assert.match(found, /^BLOCK_SIZE=1024$/m);
    await node.node.NodeUnstageVolume({ volume_id, staging_target_path });
  },
);
