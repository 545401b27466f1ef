import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { connectCsi, type CsiClient } from '../../../src/csi/client.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { startDev } from '../../harness/dev.ts';
import { makeTemporaryDirectory, noRoot, removeTemporaryDirectory } from '../../harness/machine.ts';

const access_mode = { mode: 'SINGLE_NODE_WRITER' } as const;
const volume_capability = { mount: {}, access_mode };
const key = 'csi.fairlead.dev/zone';

type Started = { readonly controller: CsiClient; readonly node: CsiClient; readonly stderr: () => string };

async function start(t: TestContext, flags: Readonly<Record<string, string>>): Promise<Started> {
  const dir = makeTemporaryDirectory();
  const dev = await startDev({ dir: join(dir, 'dev'), 'node-id': 'n1', ...flags });
  const [controller, node] = [connectCsi(dev.controller), connectCsi(dev.node)];
  t.after(async () => {
    controller.close();
    node.close();
    await dev.end();
    removeTemporaryDirectory(dir);
  });
  return { controller, node, stderr: dev.stderr };
}

test('controller and node say the same of the plugin, which is what is set', { skip: noRoot }, async t => {
  const flags = { 'plugin-capabilities': 'topology,snapshot-topology', topology: 'zone=here' };
  const { controller, node } = await start(t, flags);
  const told = await Promise.all(
    [controller, node].map(async ({ identity }) => ({
      capabilities: (await identity.GetPluginCapabilities({})).capabilities,
      version: (await identity.GetPluginInfo({})).vendor_version,
    })),
  );
  assert.deepEqual(told[0], told[1]);
  assert.match(told[0]?.version ?? '', /\+topology\.snapshot-topology$/);
  const types = told[0]?.capabilities.flatMap(({ service }) => service?.type ?? []);
  const constraints = ['VOLUME_ACCESSIBILITY_CONSTRAINTS', 'SNAPSHOT_ACCESSIBILITY_CONSTRAINTS'];
  assert.deepEqual(types, ['CONTROLLER_SERVICE', ...constraints]);
});

test('a volume is where its node is, and is used there', { skip: noRoot }, async t => {
  const { controller, node } = await start(t, { 'plugin-capabilities': 'topology', topology: 'zone=here' });
  const { accessible_topology: here } = await node.node.NodeGetInfo({});
  assert.equal(here?.segments[key], 'here');
  const create = { name: 'one', volume_capabilities: [volume_capability] };
  const requirement = { requisite: [{ segments: { ...here?.segments } }] };
  const asked = { ...create, accessibility_requirements: requirement };
  const { volume } = await controller.controller.CreateVolume(asked);
  assert.deepEqual(
    volume?.accessible_topology.map(({ segments }) => ({ ...segments })),
    [{ [key]: 'here' }],
  );
  const volume_id = volume?.volume_id ?? '';
  await controller.controller.ControllerPublishVolume({ volume_id, node_id: 'n1', volume_capability });
  await controller.controller.ControllerUnpublishVolume({ volume_id, node_id: 'n1' });
  const away = { requisite: [{ segments: { [key]: 'away' } }] };
  const { controller: asks } = controller;
  const elsewhere = { ...create, accessibility_requirements: away };
  await assert.rejects(asks.CreateVolume(elsewhere), { code: 'ALREADY_EXISTS' });
  await assert.rejects(asks.CreateVolume({ ...elsewhere, name: 'two' }), { code: 'RESOURCE_EXHAUSTED' });
  const none = await asks.GetCapacity({ accessible_topology: { segments: { [key]: 'away' } } });
  assert.equal(none.available_capacity, '0');
  await asks.DeleteVolume({ volume_id });
});

test(
  'without topology among the plugin capabilities a node tells none, and both programs warn',
  { skip: noRoot },
  async t => {
    const { controller, node, stderr } = await start(t, { topology: 'zone=here' });
    assert.equal((await node.node.NodeGetInfo({})).accessible_topology, null);
    const create = { name: 'one', volume_capabilities: [volume_capability] };
    const { volume } = await controller.controller.CreateVolume(create);
    assert.deepEqual(volume?.accessible_topology, []);
    assert.match(stderr(), /--topology is not told: --plugin-capabilities does not have/);
    const warned = /the storage has \\"topology\\", and --plugin-capabilities does not/;
    const told = await poll(() => warned.test(stderr()) || undefined, { everyMs: 20, timeoutMs: 30_000 });
    assert.ok(told, stderr());
    await controller.controller.DeleteVolume({ volume_id: volume?.volume_id ?? '' });
  },
);
