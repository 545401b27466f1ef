import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { connectCsi, type CsiClient } from '../../../../src/csi/client.ts';
import type { VolumeCapability } from '../../../../src/csi/generated/csi/v1/VolumeCapability.ts';
import {
  makeTemporaryDirectory,
  mountsBelow,
  noRoot,
  removeTemporaryDirectory,
} from '../../../harness/machine.ts';
import { startShared, type SharedNode } from '../../../harness/shared.ts';

const capability: VolumeCapability = { mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' } };

type Mounted = {
  readonly csi: CsiClient;
  readonly staging: string;
  readonly target: string;
  readonly id: string;
};

test(
  'a volume of the dir backend is written by two nodes at once, through CSI from create to delete',
  { skip: noRoot },
  async t => {
    const dir = realpathSync(makeTemporaryDirectory());
    t.after(() => removeTemporaryDirectory(dir));
    const { root, controller: socket, nodes } = await startShared(t, dir, ['n1', 'n2']);
    const { controller } = connect(t, `unix://${socket}`);
    const { volume } = await controller.CreateVolume({
      name: 'shared',
      capacity_range: { required_bytes: 2 ** 20 },
      volume_capabilities: [capability],
    });
    const volumeId = volume?.volume_id ?? '';
    assert.equal(volumeId, 'dev.shared');
    const mounted: Mounted[] = [];
    for (const node of nodes) {
      const { publish_context } = await controller.ControllerPublishVolume({
        volume_id: volumeId,
        node_id: node.nodeId,
        volume_capability: capability,
      });
      mounted.push(await mount(t, node, { volumeId, publish_context }));
    }
    const [first, second] = mounted;
    assert.ok(first && second);
    writeFileSync(join(first.target, 'one'), 'from n1');
    writeFileSync(join(second.target, 'two'), 'from n2');
    assert.equal(readFileSync(join(second.target, 'one'), 'utf8'), 'from n1');
    assert.equal(readFileSync(join(first.target, 'two'), 'utf8'), 'from n2');

    const grown = { required_bytes: 2 ** 30 };
    const expanded = await controller.ControllerExpandVolume({ volume_id: volumeId, capacity_range: grown });
    assert.equal(expanded.node_expansion_required, false);
    await assert.rejects(controller.DeleteVolume({ volume_id: volumeId }), { code: 'FAILED_PRECONDITION' });

    for (const { csi, staging, target, id } of mounted) {
      await csi.node.NodeUnpublishVolume({ volume_id: volumeId, target_path: target });
      await csi.node.NodeUnstageVolume({ volume_id: volumeId, staging_target_path: staging });
      await controller.ControllerUnpublishVolume({ volume_id: volumeId, node_id: id });
    }
    assert.deepEqual(mountsBelow(dir), []);
    assert.equal(readFileSync(join(root, volumeId, 'two'), 'utf8'), 'from n2');
    await controller.DeleteVolume({ volume_id: volumeId });
    assert.equal(existsSync(join(root, volumeId)), false);
    assert.deepEqual(readdirSync(join(root, '.trash')), []);
  },
);

test('a volume of the dir backend is no block volume', { skip: noRoot }, async t => {
  const dir = realpathSync(makeTemporaryDirectory());
  t.after(() => removeTemporaryDirectory(dir));
  const { controller: socket } = await startShared(t, dir, ['n1']);
  const { controller } = connect(t, `unix://${socket}`);
  const block: VolumeCapability = { block: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' } };
  await assert.rejects(controller.CreateVolume({ name: 'raw', volume_capabilities: [block] }), {
    code: 'INVALID_ARGUMENT',
  });
});

function connect(t: TestContext, endpoint: string): CsiClient {
  const client = connectCsi(endpoint);
  t.after(() => client.close());
  return client;
}

type Published = { readonly volumeId: string; readonly publish_context: Record<string, string> };

async function mount(
  t: TestContext,
  at: SharedNode,
  { volumeId, publish_context }: Published,
): Promise<Mounted> {
  const csi = connect(t, `unix://${at.node}`);
  const staging = join(at.directory, 'staging');
  const target = join(at.directory, 'target');
  mkdirSync(staging);
  const volume = {
    volume_id: volumeId,
    staging_target_path: staging,
    volume_capability: capability,
    publish_context,
  };
  await csi.node.NodeStageVolume(volume);
  await csi.node.NodePublishVolume({ ...volume, target_path: target });
  return { csi, staging, target, id: at.nodeId };
}
