import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { registerNodes } from '../../../src/dev/dev.ts';
import { startBridged } from '../../fakes/storages/bridged.ts';
import { clientOf } from '../../harness/csi-serving.ts';
import { directoryOf, noRoot } from '../../harness/machine.ts';

const volume_capability = {
  mount: { fs_type: 'ext4' },
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
} as const;
const zone = 'csi.fairlead.dev/zone';

test(
  "a driver's topology reaches nodes and volumes behind the gateway, and the requirement reaches the driver",
  { skip: noRoot },
  async t => {
    const dir = directoryOf(t);
    const advertised = { 'plugin-capabilities': 'topology' };
    const chain = await startBridged(t, dir, {
      flags: { ...advertised, topology: 'rack=r1' },
      ofDriver: { ...advertised, topology: 'zone=here' },
      env: { TOPOLOGIES: `${zone}=here;${zone}=there` },
    });
    const [{ controller }, { node }] = [clientOf(t, chain.controller), clientOf(t, chain.node)];
    const { node_id, accessible_topology: at } = await node.NodeGetInfo({});
    assert.partialDeepStrictEqual(at?.segments, { [zone]: 'here', 'csi.fairlead.dev/rack': 'r1' });

    const create = (name: string, where: string) =>
      controller.CreateVolume({
        name,
        capacity_range: { required_bytes: 2 ** 26 },
        volume_capabilities: [volume_capability],
        accessibility_requirements: { requisite: [{ segments: { [zone]: where } }] },
      });
    // The driver itself refuses the zone, which only the bridge was told.
    await assert.rejects(create('far', 'there'), { code: 'RESOURCE_EXHAUSTED' });
    const { volume } = await create('near', 'here');
    assert.deepEqual(volume?.accessible_topology, [{ segments: { [zone]: 'here' } }]);

    const volume_id = volume?.volume_id ?? '';
    const publish = () => controller.ControllerPublishVolume({ volume_id, node_id, volume_capability });
    await assert.rejects(publish(), { code: 'FAILED_PRECONDITION' });
    // In a cluster the controller reports the labels that kubelet made of the node's topology.
    const report = { nodeIds: [node_id], topology: at?.segments };
    await registerNodes(chain.gateway, join(dir, 'own/controller.jwk.json'), report);
    const { publish_context } = await publish();
    assert.equal(publish_context['protocol'], 'csi');
  },
);
