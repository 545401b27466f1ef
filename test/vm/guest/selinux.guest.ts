import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseMountinfo, topMount } from '../../../src/lib/linux/mountinfo.ts';
import { defaultImageBytes, requestFor } from '../../harness/node.ts';
import { toExport } from '../../harness/node/shares.ts';
import type { VolumeFields } from '../../harness/node/served.ts';
import { local, startGuestNode, type GuestNode } from './agent.ts';
import { startNfsServer } from '../targets/nfs-server.ts';
import { labelOf, lackConfig, lackWritable, loadPolicy } from '../targets/selinux-policy.ts';

loadPolicy();

const label = 'system_u:object_r:container_file_t:s0:c10,c20';
const other = 'system_u:object_r:container_file_t:s0:c10,c30';
const plain = 'system_u:object_r:file_t:s0';

/** The mount flags as kubelet writes them. */
function flagsFor(context: string): readonly string[] {
  return [`context="${context}"`];
}

function volumeOn(node: GuestNode, fsType: string, mountFlags: readonly string[]) {
  const { bench } = node;
  const image = bench.makeImage(`image-${fsType}`, { sizeBytes: defaultImageBytes });
  const capability = {
    mount: { fs_type: fsType, mount_flags: [...mountFlags] },
    access_mode: { mode: 'SINGLE_NODE_MULTI_WRITER' as const },
  };
  return node.volumeAt({ name: fsType, attachment: requestFor(bench, image).attachment, capability });
}

function withFlags(fields: VolumeFields, mountFlags: readonly string[]): VolumeFields {
  const { volume_capability: capability } = fields;
  const mount = { ...capability.mount, mount_flags: [...mountFlags] };
  return { ...fields, volume_capability: { ...capability, mount } };
}

/** Reads the kernel's options of the filesystem that is mounted at a path. */
function shownAt(path: string): string {
  const mount = topMount(parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')), path);
  return mount?.superOptions.join(',') ?? 'nothing';
}

for (const fsType of ['ext4', 'xfs', 'btrfs'])
  test(`an ${fsType} volume has the requested context, in all its files and wherever it is published`, async t => {
    const node = await startGuestNode(t, local);
    const fields = volumeOn(node, fsType, flagsFor(label));
    await node.bringUp(fields);
    await node.bringUp(fields);
    const second = { ...fields, target_path: `${fields.target_path}-second`, readonly: true };
    await node.client.node.NodePublishVolume(second);
    mkdirSync(join(fields.target_path, 'made'));
    writeFileSync(join(fields.target_path, 'made/file'), 'kept');
    for (const path of [fields.staging_target_path, fields.target_path, second.target_path]) {
      assert.match(shownAt(path), new RegExp(`context="${label}"`));
      assert.doesNotMatch(shownAt(path), /seclabel/);
      assert.equal(labelOf(path), label);
      assert.equal(labelOf(join(path, 'made/file')), label);
    }
    for (const flags of [flagsFor(other), []]) {
      const changed = withFlags(fields, flags);
      await assert.rejects(node.client.node.NodeStageVolume(changed), { code: 'ALREADY_EXISTS' });
      await assert.rejects(node.client.node.NodePublishVolume(changed), { code: 'ALREADY_EXISTS' });
    }
    assert.equal(labelOf(join(fields.target_path, 'made/file')), label);
    await node.client.node.NodeUnpublishVolume(second);
    await node.takeDown(fields);
    const changed = withFlags(fields, flagsFor(other));
    await node.bringUp(changed);
    assert.equal(labelOf(join(fields.target_path, 'made/file')), other);
    await node.takeDown(changed);
    const unlabelled = withFlags(fields, []);
    await node.bringUp(unlabelled);
    assert.match(shownAt(fields.target_path), /seclabel/);
    assert.equal(labelOf(join(fields.target_path, 'made/file')), plain);
    assert.equal(readFileSync(join(fields.target_path, 'made/file'), 'utf8'), 'kept');
    await node.takeDown(unlabelled);
  });

const spellings = [
  ['the categories in another order', 's0:c20,c10', 's0:c10,c20'],
  ['a range from the same level', 's0-s0:c20,c1.c3', 's0-s0:c1.c3,c20'],
  ['a category twice', 's0:c10,c10', 's0:c10'],
  ['three in a row', 's0:c1,c2,c3', 's0:c1.c3'],
  ['a range of two', 's0:c1.c2', 's0:c1,c2'],
  ['a range of one level', 's0-s0', 's0'],
] as const;

for (const [what, level, shown] of spellings)
  test(`a context equals the requested one even if the kernel writes it differently: ${what}`, async t => {
    const node = await startGuestNode(t, local);
    const context = `system_u:object_r:container_file_t:${level}`;
    const fields = volumeOn(node, 'ext4', flagsFor(context));
    await node.bringUp(fields);
    await node.bringUp(fields);
    assert.equal(labelOf(fields.target_path), `system_u:object_r:container_file_t:${shown}`);
    await node.takeDown(fields);
  });

test('a context that is unknown to the policy is refused, and nothing is left', async t => {
  const node = await startGuestNode(t, local);
  const fields = volumeOn(node, 'ext4', flagsFor('system_u:object_r:nobody_t:s0'));
  await assert.rejects(node.client.node.NodeStageVolume(fields), {
    code: 'UNAVAILABLE',
    detail: /nobody_t.* ended with status 32/,
  });
  assert.equal(shownAt(fields.staging_target_path), 'nothing');
  await node.client.node.NodeUnstageVolume(fields);
});

test('two shares of one server each have their requested context', async t => {
  const server = await startNfsServer(t);
  const node = await startGuestNode(t, local);
  const volumes = [label, other].map((context, index) => {
    const name = `share-${index}`;
    mkdirSync(join(server.root, name));
    const capability = {
      mount: { mount_flags: [...flagsFor(context)] },
      access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' as const },
    };
    return {
      context,
      fields: node.volumeAt({ name, attachment: toExport(`/${name}`, server.address), capability }),
    };
  });
  for (const { fields } of volumes) for (const _ of ['the first time', 'again']) await node.bringUp(fields);
  for (const { context, fields } of volumes) {
    writeFileSync(join(fields.target_path, 'file'), 'kept');
    assert.equal(labelOf(join(fields.target_path, 'file')), context);
    await assert.rejects(node.client.node.NodeStageVolume(withFlags(fields, [])), { code: 'ALREADY_EXISTS' });
    await node.takeDown(fields);
  }
});

const lacks = [
  { lack: lackConfig, says: /the agent has no "\/etc\/selinux\/config"/ },
  { lack: lackWritable, says: /the agent has no "\/sys\/fs\/selinux" that it may write to/ },
];

for (const { lack, says } of lacks)
  test(`the agent mounts nothing and says why if mount considers SELinux disabled: ${says.source}`, async t => {
    const node = await startGuestNode(t, local);
    const fields = volumeOn(node, 'ext4', flagsFor(label));
    const give = lack();
    t.after(give);
    const refusal = { code: 'FAILED_PRECONDITION', detail: says };
    await assert.rejects(node.client.node.NodeStageVolume(fields), refusal);
    assert.equal(shownAt(fields.staging_target_path), 'nothing');
    give();
    await node.bringUp(fields);
    assert.equal(labelOf(fields.target_path), label);
    await node.takeDown(fields);
  });
