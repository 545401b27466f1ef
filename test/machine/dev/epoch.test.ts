import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { nodeIdOf, readNodeIdentity } from '../../../src/api/node-identity.ts';
import { connectCsi } from '../../../src/csi/client.ts';
import { makeTemporaryDirectory, noRoot, removeTemporaryDirectory } from '../../harness/machine.ts';
import { startPlaced } from '../../harness/placed.ts';

const volume_capability = { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;

test(
  'a machine that takes the place of a node gets its volumes once the old one has let go',
  { skip: noRoot },
  async t => {
    const dir = makeTemporaryDirectory();
    t.after(() => removeTemporaryDirectory(dir));
    const { controller: endpoint, node: socket, nodeId: old, work, tell } = await startPlaced(t, dir);
    const [{ controller, ...one }, { node, ...other }] = [connectCsi(endpoint), connectCsi(socket)];
    t.after(() => [one, other].forEach(client => client.close()));
    const { name, epoch = 0 } = readNodeIdentity(old);
    const replacement = nodeIdOf(name, epoch + 1);
    const { volume } = await controller.CreateVolume({
      name: 'pvc',
      volume_capabilities: [volume_capability],
    });
    const volume_id = volume?.volume_id ?? '';
    const publish = (node_id: string) =>
      controller.ControllerPublishVolume({ volume_id, node_id, volume_capability });
    const holders = async () => {
      const { entries } = await controller.ListVolumes({});
      return entries.flatMap(({ status }) => status?.published_node_ids ?? []);
    };
    const staging_target_path = join(work, 'staging');
    mkdirSync(staging_target_path);
    const { publish_context } = await publish(old);
    await node.NodeStageVolume({ volume_id, staging_target_path, volume_capability, publish_context });

    await tell(replacement);
    await assert.rejects(publish(old), { code: 'FAILED_PRECONDITION' });
    await assert.rejects(publish(replacement), {
      code: 'UNAVAILABLE',
      message: new RegExp(`attached to node "${old}"`),
    });
    assert.deepEqual(await holders(), [old]);
    await node.NodeUnstageVolume({ volume_id, staging_target_path });
    const after = await publish(replacement);
    assert.notEqual(after.publish_context['attachmentId'], publish_context['attachmentId']);
    assert.deepEqual(await holders(), [replacement]);
    await controller.ControllerUnpublishVolume({ volume_id, node_id: old });
    assert.deepEqual(await holders(), [replacement]);
    await controller.ControllerUnpublishVolume({ volume_id, node_id: replacement });
    await controller.DeleteVolume({ volume_id });
  },
);
