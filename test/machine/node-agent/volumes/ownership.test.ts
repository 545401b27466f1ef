import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectCsi } from '../../../../src/csi/client.ts';
import type { VolumeCapability } from '../../../../src/csi/generated/csi/v1/VolumeCapability.ts';
import { isProblemThat } from '../../../harness/gateway-problems.ts';
import { openNode, type TestNode } from '../../../harness/agent.ts';
import { loopDevicesOf, mountsBelow, noRoot } from '../../../harness/machine.ts';

const access_mode = { mode: 'SINGLE_NODE_WRITER' } as const;
const mounted: VolumeCapability = { mount: { fs_type: 'ext4' }, access_mode };
const block: VolumeCapability = { block: {}, access_mode };
const skip = noRoot;

test('unpublish leaves a foreign mount and a file that holds data alone', { skip }, async t => {
  const { calls, place } = await start(t);
  const target = join(place.root, 'pods', 'foreign');
  mkdirSync(target);
  execFileSync('mount', ['-t', 'tmpfs', 'none', target]);
  writeFileSync(join(target, 'precious'), 'data');
  const refused = isProblemThat('FAILED_PRECONDITION', /tmpfs/);
  await assert.rejects(calls.NodeUnpublishVolume({ volume_id: 'dev.nope', target_path: target }), refused);
  const volume = stagingOf(place, 'a', mounted);
  await calls.NodeStageVolume(volume);
  await assert.rejects(calls.NodeUnpublishVolume({ ...volume, target_path: target }), refused);
  assert.equal(readFileSync(join(target, 'precious'), 'utf8'), 'data');
  const file = join(place.root, 'config.yaml');
  writeFileSync(file, 'kubelet');
  await assert.rejects(
    calls.NodeUnpublishVolume({ volume_id: 'dev.nope', target_path: file }),
    isProblemThat('FAILED_PRECONDITION', /holds data/),
  );
  assert.equal(readFileSync(file, 'utf8'), 'kubelet');
  await calls.NodeUnstageVolume(volume);
});

test(
  "after a restart one volume's late unpublish leaves another's mount at the path alone",
  { skip },
  async t => {
    const { node, calls, place, agent } = await start(t);
    const target_path = join(place.root, 'pods', 'target');
    const [a, b] = [stagingOf(place, 'a', mounted), stagingOf(place, 'b', mounted)];
    await calls.NodeStageVolume(a);
    await calls.NodePublishVolume({ ...a, target_path });
    await calls.NodeUnpublishVolume({ ...a, target_path });
    await calls.NodeStageVolume(b);
    await agent.end('SIGKILL');
    await node.startAgent({ 'registration-dir': '' }).ready;
    await calls.NodePublishVolume({ ...b, target_path });
    await assert.rejects(
      calls.NodeUnpublishVolume({ ...a, target_path }),
      isProblemThat('FAILED_PRECONDITION', /"dev\.a"/),
    );
    assert.deepEqual(mountsBelow(target_path), [target_path]);
    await calls.NodeUnstageVolume(a);
    await calls.NodeUnpublishVolume({ ...b, target_path });
    await calls.NodeUnstageVolume(b);
  },
);

test('a second volume id on one device is refused and leaves the first in use', { skip }, async t => {
  const { calls, place } = await start(t);
  const a = stagingOf(place, 'a', block);
  const target_path = join(place.root, 'pods', 'device');
  await calls.NodeStageVolume(a);
  await calls.NodePublishVolume({ ...a, target_path });
  writeFileSync(target_path, 'raw data');
  const b = { ...stagingOf(place, 'b', mounted), publish_context: a.publish_context };
  await assert.rejects(calls.NodeStageVolume(b), isProblemThat('FAILED_PRECONDITION', /volume "dev\.a"/));
  assert.equal(loopDevicesOf(place.dir).length, 1);
  assert.equal(readFileSync(target_path).subarray(0, 8).toString(), 'raw data');
  await calls.NodeUnpublishVolume({ ...a, target_path });
  await calls.NodeUnstageVolume(a);
  assert.deepEqual(loopDevicesOf(place.dir), []);
});

test('a second agent on one state directory is refused in one line', { skip }, async t => {
  const { node, place } = await start(t);
  const second = node.startAgent({ endpoint: join(place.root, 'other.sock'), 'registration-dir': '' });
  await assert.rejects(second.ready);
  assert.match(second.stderr(), /^fairlead node: state directory ".*" is in use by a live process\n$/);
});

async function start(t: Parameters<typeof openNode>[0]) {
  const node = openNode(t);
  const agent = node.startAgent({ 'registration-dir': '' });
  await agent.ready;
  const client = connectCsi(`unix://${node.socket}`);
  t.after(() => client.close());
  return { node, agent, calls: client.node, place: node };
}

function stagingOf(place: TestNode, name: string, volume_capability: VolumeCapability) {
  const { publishContext } = place.makeVolume(name);
  const staging_target_path = join(place.root, 'plugins', `stage-${name}`);
  mkdirSync(staging_target_path, { recursive: true });
  return {
    volume_id: `dev.${name}`,
    publish_context: { ...publishContext },
    staging_target_path,
    volume_capability,
  };
}
