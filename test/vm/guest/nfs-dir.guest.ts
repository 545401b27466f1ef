import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { connectCsi, type CsiClient } from '../../../src/csi/client.ts';
import type { VolumeCapability } from '../../../src/csi/generated/csi/v1/VolumeCapability.ts';
import { parseMountinfo } from '../../../src/lib/linux/mountinfo.ts';
import { makeTemporaryDirectory, mountsBelow, removeTemporaryDirectory } from '../../harness/machine.ts';
import { startTrio, type TrioNode } from '../../harness/trio.ts';
import { startNfsServer } from '../targets/nfs-server.ts';

const capability: VolumeCapability = { mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' } };
const server = await startNfsServer({ after }, 2);

test('a volume of the dir backend goes over a real NFS server to two nodes, from create to delete', async t => {
  const dir = realpathSync(makeTemporaryDirectory());
  t.after(() => removeTemporaryDirectory(dir));
  const root = join(server.root, 'volumes');
  mkdirSync(root);
  const pool = {
    backend: 'dir',
    dir: root,
    capacity: '1Ti',
    nfs: { server: server.address, path: '/volumes' },
  };
  const shared = await startTrio(t, { dir, pool, nodeIds: ['n1', 'n2'] });
  const { controller } = connect(t, shared.controller);
  const { volume } = await controller.CreateVolume({
    name: 'shared',
    capacity_range: { required_bytes: 2 ** 20 },
    volume_capabilities: [capability],
  });
  const volume_id = volume?.volume_id ?? '';
  const place = join(root, volume_id);

  const uses: Use[] = [];
  for (const { nodeId, endpoint, directory } of shared.nodes) {
    const attached = { volume_id, node_id: nodeId };
    const { publish_context } = await controller.ControllerPublishVolume({
      ...attached,
      volume_capability: capability,
    });
    assert.deepEqual(
      [publish_context['protocol'], publish_context['server'], publish_context['path']],
      ['nfs', server.address, `/volumes/${volume_id}`],
    );
    const use = { node: connect(t, endpoint), fields: fieldsAt(directory, { volume_id, publish_context }) };
    const detach = (): Promise<unknown> => controller.ControllerUnpublishVolume(attached);
    uses.push({ ...use, detach });
    for (const _ of ['the first time', 'again']) await bringUp(use);
    assertOverNfs(use.fields.target_path, volume_id);
  }

  const data = randomBytes(8 * 2 ** 20);
  const [first, second] = uses.map(({ fields }) => fields.target_path);
  writeFileSync(join(first ?? '', 'data'), data, { flush: true });
  for (const path of [second ?? '', place]) assert.equal(hashOf(join(path, 'data')), hash(data));
  const [{ node, fields } = assert.fail()] = uses;
  const { usage } = await node.node.NodeGetVolumeStats({ ...fields, volume_path: fields.target_path });
  assert.ok(Number(usage[0]?.total) > 0);
  await assert.rejects(controller.DeleteVolume({ volume_id }), { code: 'FAILED_PRECONDITION' });

  for (const use of uses) await takeDown(use);
  assert.deepEqual(mountsBelow(dir), []);
  assert.equal(hashOf(join(place, 'data')), hash(data));
  await controller.DeleteVolume({ volume_id });
  assert.equal(existsSync(place), false);
  assert.deepEqual(readdirSync(join(root, '.trash')), []);
});

type Use = {
  readonly node: CsiClient;
  readonly fields: ReturnType<typeof fieldsAt>;
  readonly detach: () => Promise<unknown>;
};

function connect(t: TestContext, endpoint: string): CsiClient {
  const client = connectCsi(endpoint);
  t.after(() => client.close());
  return client;
}

type Attached = { readonly volume_id: string; readonly publish_context: Record<string, string> };

/** The fields of all Node calls about the volume, at paths of its node. */
function fieldsAt(directory: TrioNode['directory'], attached: Attached) {
  const staging_target_path = join(directory, 'staging');
  mkdirSync(staging_target_path);
  const target_path = join(directory, 'target');
  return { ...attached, staging_target_path, target_path, volume_capability: capability };
}

async function bringUp({ node, fields }: Pick<Use, 'node' | 'fields'>): Promise<void> {
  await node.node.NodeStageVolume(fields);
  await node.node.NodePublishVolume(fields);
}

async function takeDown({ node, fields, detach }: Use): Promise<void> {
  await node.node.NodeUnpublishVolume(fields);
  await node.node.NodeUnstageVolume(fields);
  await detach();
}

function assertOverNfs(target: string, volumeId: string): void {
  const mounts = parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8'));
  const mount = mounts.find(({ path }) => path === target);
  assert.deepEqual([mount?.type, mount?.source], ['nfs4', `${server.address}:/volumes/${volumeId}`]);
}

function hash(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}

function hashOf(path: string): string {
  return hash(readFileSync(path));
}
