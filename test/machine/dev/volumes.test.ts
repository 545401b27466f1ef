import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openDev } from '../../harness/dev.ts';
import { noRoot } from '../../harness/machine.ts';

const access_mode = { mode: 'SINGLE_NODE_WRITER' } as const;
const volume_capability = { mount: { fs_type: 'ext4' }, access_mode };
const create = {
  name: 'one',
  capacity_range: { required_bytes: 2 ** 26 },
  volume_capabilities: [volume_capability],
};
const zone = 'csi.fairlead.dev/zone';

test(
  "a StorageClass's options reach the filesystem, and wrong ones create no volume",
  { skip: noRoot },
  async t => {
    const { dir, dev, controller: sockets, node } = await openDev(t);
    const { controller } = sockets;
    const base = { ...create, parameters: { 'fs.label': 'from-class', 'fs.blockSize': '1024' } };
    const refused = [
      { change: { parameters: { 'fs.blockSize': '3' } }, message: /"fs\.blockSize" for ext4 is not one of/ },
      {
        change: { parameters: { 'fs.checksum': 'xxhash' } },
        message: /"fs\.checksum" is not known for ext4/,
      },
      {
        change: { volume_capabilities: [{ mount: { fs_type: 'ntfs' }, access_mode }] },
        message: /"ntfs" is not one of/,
      },
      { change: { volume_capabilities: [{ block: {}, access_mode }] }, message: /a block volume has none/ },
    ];
    for (const { change, message } of refused)
      await assert.rejects(controller.CreateVolume({ ...base, ...change }), {
        code: 'INVALID_ARGUMENT',
        message,
      });
    assert.deepEqual((await controller.ListVolumes({})).entries, []);
    const { volume } = await controller.CreateVolume(base);
    const asked = {
      volume_id: volume?.volume_id ?? '',
      volume_context: volume?.volume_context ?? {},
      volume_capability,
    };
    const { publish_context } = await controller.ControllerPublishVolume({ ...asked, node_id: dev.nodeId });
    const staging_target_path = join(dir, 'staging');
    mkdirSync(staging_target_path);
    await node.node.NodeStageVolume({ ...asked, publish_context, staging_target_path });
    const argv = ['-p', '-o', 'export', '--', publish_context['path'] ?? ''];
    const found = execFileSync('blkid', argv, { encoding: 'utf8' });
    assert.match(found, /^LABEL=from-class$/m);
    assert.match(found, /^BLOCK_SIZE=1024$/m);
    await node.node.NodeUnstageVolume({ volume_id: asked.volume_id, staging_target_path });
  },
);

test(
  'controller and node report the same plug-in, and a volume is on its node',
  { skip: noRoot },
  async t => {
    const flags = {
      'plugin-capabilities': 'topology,snapshot-topology',
      topology: 'zone=here',
      'node-id': 'n1',
    };
    const { controller: sockets, node } = await openDev(t, flags);
    const { controller } = sockets;
    const [one, other] = await Promise.all(
      [sockets, node].map(async ({ identity }) => ({
        capabilities: (await identity.GetPluginCapabilities({})).capabilities,
        version: (await identity.GetPluginInfo({})).vendor_version,
      })),
    );
    assert.deepEqual(one, other);
    assert.match(one?.version ?? '', /\+topology\.snapshot-topology$/);
    const types = one?.capabilities.flatMap(({ service }) => service?.type ?? []);
    const constraints = ['VOLUME_ACCESSIBILITY_CONSTRAINTS', 'SNAPSHOT_ACCESSIBILITY_CONSTRAINTS'];
    assert.deepEqual(types, ['CONTROLLER_SERVICE', ...constraints]);

    const [here, away] = ['here', 'away'].map(name => ({ segments: { [zone]: name } }));
    const { node_id, accessible_topology: where } = await node.node.NodeGetInfo({});
    assert.partialDeepStrictEqual(where?.segments, here?.segments);
    const askIn = (name: string, topology = here) =>
      controller.CreateVolume({
        ...create,
        name,
        accessibility_requirements: { requisite: [topology ?? {}] },
      });
    const { volume } = await askIn('one');
    assert.equal(volume?.accessible_topology[0]?.segments[zone], 'here');
    const volume_id = volume?.volume_id ?? '';
    await controller.ControllerPublishVolume({ volume_id, node_id, volume_capability });
    await controller.ControllerUnpublishVolume({ volume_id, node_id });
    await assert.rejects(askIn('one', away), { code: 'ALREADY_EXISTS' });
    await assert.rejects(askIn('two', away), { code: 'RESOURCE_EXHAUSTED' });
    const { available_capacity } = await controller.GetCapacity({ accessible_topology: away ?? null });
    assert.equal(available_capacity, '0');
    const { snapshot } = await controller.CreateSnapshot({
      name: 'cut',
      source_volume_id: volume_id,
      accessibility_requirements: { requisite: [here ?? {}], preferred: [here ?? {}] },
    });
    assert.equal(snapshot?.accessible_topology[0]?.segments[zone], 'here');
  },
);

test(
  'without the topology capability none is reported, and both programs warn',
  { skip: noRoot },
  async t => {
    const { dev, controller, node } = await openDev(t, { topology: 'zone=here' });
    assert.equal((await node.node.NodeGetInfo({})).accessible_topology, null);
    const { volume } = await controller.controller.CreateVolume(create);
    assert.deepEqual(volume?.accessible_topology, []);
    await dev.untilLogged(/--topology is not reported: --plugin-capabilities does not have/);
    await dev.untilLogged(/the storage supports \\"topology\\" but clusters cannot use it/);
  },
);
