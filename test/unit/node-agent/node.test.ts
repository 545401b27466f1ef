import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createNode } from '../../../node-agent/node.ts';
import { toPublishContext } from '../../../src/api/attachment.ts';
import type { UnaryCall } from '../../../src/csi/call.ts';
import { openFakeBench, requestFor, startAgent, type Bench } from '../../harness/node-agent-bench.ts';

const call: UnaryCall = { deadlineMs: 0, requestId: 'r', signal: new AbortController().signal };

type Rpc =
  | 'NodeStageVolume'
  | 'NodeUnstageVolume'
  | 'NodePublishVolume'
  | 'NodeUnpublishVolume'
  | 'NodeGetVolumeStats'
  | 'NodeExpandVolume'
  | 'NodeGetVolumeHealth';

async function open(bench: Bench = openFakeBench()) {
  const { attachment, stagingPath, targetPath, volumeId } = requestFor(bench, bench.makeImage('image'));
  const segments: Record<string, string> = {};
  const identity = { nodeId: 'n1', maxVolumes: 7, topology: async () => segments };
  const node = createNode(await startAgent(bench), identity);
  const request = {
    volume_id: volumeId,
    publish_context: toPublishContext(attachment),
    staging_target_path: stagingPath,
    target_path: targetPath,
    volume_path: targetPath,
    volume_capability: {
      access_type: 'mount' as const,
      mount: { fs_type: 'ext4', mount_flags: ['noatime'], volume_mount_group: '' },
      block: null,
      access_mode: { mode: 'SINGLE_NODE_WRITER' as const },
    },
    readonly: false,
    secrets: {},
    volume_context: {},
  };
  const ask = async (rpc: Rpc, change: object = {}): Promise<unknown> =>
    node[rpc]?.({ ...request, ...change } as never, call);
  return { node, request, ask, segments };
}

test('a volume goes through all calls', async () => {
  const { ask } = await open();
  assert.deepEqual(await ask('NodeStageVolume'), {});
  assert.deepEqual(await ask('NodePublishVolume'), {});
  assert.deepEqual(await ask('NodeGetVolumeStats'), {
    usage: [
      { unit: 'BYTES', total: 409_600, used: 163_840, available: 204_800 },
      { unit: 'INODES', total: 20, used: 11, available: 9 },
    ],
  });
  assert.deepEqual(await ask('NodeUnpublishVolume'), {});
  assert.deepEqual(await ask('NodeUnstageVolume'), {});
});

test('the node says who it is and what it can do', async () => {
  const { node, segments } = await open();
  const info = { node_id: 'n1', max_volumes_per_node: 7 };
  assert.deepEqual(await node.NodeGetInfo?.({} as never, call), info);
  Object.assign(segments, { 'x/zone': 'a' });
  const accessible_topology = { segments: { 'x/zone': 'a' } };
  assert.deepEqual(await node.NodeGetInfo?.({} as never, call), { ...info, accessible_topology });
  assert.deepEqual(await node.NodeGetCapabilities?.({} as never, call), {
    capabilities: [
      { rpc: { type: 'STAGE_UNSTAGE_VOLUME' } },
      { rpc: { type: 'GET_VOLUME_STATS' } },
      { rpc: { type: 'EXPAND_VOLUME' } },
      { rpc: { type: 'GET_VOLUME_HEALTH' } },
      { rpc: { type: 'GET_STORAGE_HEALTH' } },
      { rpc: { type: 'SINGLE_NODE_MULTI_WRITER' } },
    ],
  });
});

const badInputs: readonly { rpc: Rpc; change: object; code: string; names: RegExp }[] = [
  ...(
    [
      'NodeStageVolume',
      'NodeUnstageVolume',
      'NodePublishVolume',
      'NodeUnpublishVolume',
      'NodeGetVolumeStats',
      'NodeExpandVolume',
    ] as const
  ).flatMap(rpc => [
    { rpc, change: { volume_id: '' }, code: 'INVALID_ARGUMENT', names: /volume_id is missing/ },
    {
      rpc,
      change: { volume_id: 'x'.repeat(129) },
      code: 'INVALID_ARGUMENT',
      names: /volume_id has 129 bytes/,
    },
  ]),
  ...(['NodeStageVolume', 'NodeUnstageVolume'] as const).flatMap(rpc => [
    {
      rpc,
      change: { staging_target_path: '' },
      code: 'INVALID_ARGUMENT',
      names: /staging_target_path is missing/,
    },
    {
      rpc,
      change: { staging_target_path: '/bench/../x' },
      code: 'INVALID_ARGUMENT',
      names: /is not normalized/,
    },
    {
      rpc,
      change: { staging_target_path: '/etc' },
      code: 'INVALID_ARGUMENT',
      names: /"\/etc" does not lie below/,
    },
  ]),
  ...(['NodePublishVolume', 'NodeUnpublishVolume'] as const).flatMap(rpc => [
    { rpc, change: { target_path: '' }, code: 'INVALID_ARGUMENT', names: /target_path is missing/ },
    { rpc, change: { target_path: 'x' }, code: 'INVALID_ARGUMENT', names: /"x" is not absolute/ },
  ]),
  {
    rpc: 'NodeStageVolume',
    change: { volume_capability: null },
    code: 'INVALID_ARGUMENT',
    names: /volume_capability/,
  },
  {
    rpc: 'NodePublishVolume',
    change: { volume_capability: null },
    code: 'INVALID_ARGUMENT',
    names: /volume_capability/,
  },
  {
    rpc: 'NodeStageVolume',
    change: { publish_context: {} },
    code: 'INVALID_ARGUMENT',
    names: /has no protocol/,
  },
  {
    rpc: 'NodeStageVolume',
    change: { publish_context: { protocol: 'loop', device: '/dev/mock' } },
    code: 'INVALID_ARGUMENT',
    names: /unknown fields "device"/,
  },
  {
    rpc: 'NodeStageVolume',
    change: {
      volume_capability: {
        access_type: 'mount',
        mount: { fs_type: 'ext4', mount_flags: ['noatime,suid'], volume_mount_group: '' },
        access_mode: { mode: 'SINGLE_NODE_WRITER' },
      },
    },
    code: 'INVALID_ARGUMENT',
    names: /mount flag "noatime,suid" is not allowed for ext4/,
  },
  {
    rpc: 'NodePublishVolume',
    change: { staging_target_path: '' },
    code: 'FAILED_PRECONDITION',
    names: /staging_target_path is missing/,
  },
  { rpc: 'NodePublishVolume', change: {}, code: 'FAILED_PRECONDITION', names: /volume "c.v" is not staged/ },
  ...(['NodeGetVolumeStats', 'NodeExpandVolume'] as const).flatMap(rpc => [
    { rpc, change: { volume_path: '' }, code: 'INVALID_ARGUMENT', names: /volume_path is missing/ },
    { rpc, change: { volume_path: 'some/path' }, code: 'NOT_FOUND', names: /"some\/path"/ },
    { rpc, change: {}, code: 'NOT_FOUND', names: /volume "c.v"/ },
  ]),
  {
    rpc: 'NodeExpandVolume',
    change: { capacity_range: { required_bytes: '2', limit_bytes: '1' } },
    code: 'INVALID_ARGUMENT',
    names: /limits them to 1/,
  },
];

for (const { rpc, change, code, names } of badInputs) {
  test(`${rpc} with ${JSON.stringify(change).slice(0, 80)} is ${code}`, async () => {
    const { ask } = await open();
    await assert.rejects(ask(rpc, change), { code, message: names });
  });
}

test('a slash at the end of a path changes nothing, whatever call it is in', async () => {
  const { ask, request } = await open();
  const paths = {
    staging_target_path: `${request.staging_target_path}/`,
    target_path: `${request.target_path}/`,
    volume_path: `${request.volume_path}/`,
    volume_publish_path: `${request.target_path}/`,
  };
  await ask('NodeStageVolume', paths);
  await ask('NodePublishVolume');
  for (const rpc of ['NodePublishVolume', 'NodeGetVolumeStats', 'NodeExpandVolume'] as const)
    await ask(rpc, paths);
  assert.deepEqual(await ask('NodeGetVolumeHealth', paths), {
    volume_health: { volume_id: request.volume_id, health_statuses: [] },
  });
  await ask('NodeUnpublishVolume', paths);
  await ask('NodeUnstageVolume', paths);
});

test('stats of a staged volume at another path is NOT_FOUND', async () => {
  const { ask } = await open();
  await ask('NodeStageVolume');
  await assert.rejects(ask('NodeGetVolumeStats'), { code: 'NOT_FOUND' });
  await assert.rejects(ask('NodeGetVolumeStats', { volume_path: 'some/path' }), { code: 'NOT_FOUND' });
});

test('a call for a busy volume is ABORTED at once, and says what runs and since when', async () => {
  const bench = openFakeBench();
  const started = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const host = {
    ...bench.host,
    run: async (command: string, args: readonly string[]) => {
      started.resolve();
      await release.promise;
      return bench.host.run(command, args);
    },
  };
  const { ask } = await open({ ...bench, host });
  const first = ask('NodeStageVolume');
  await started.promise;
  const busy = /^NodeStageVolume on volume "c\.v" runs since \d{4}-\d\d-\d\dT/;
  await assert.rejects(ask('NodeUnstageVolume'), { code: 'ABORTED', message: busy });
  await assert.rejects(ask('NodePublishVolume'), { code: 'ABORTED', message: busy });
  await assert.rejects(ask('NodeStageVolume', { volume_id: 'c.other' }), {
    code: 'ABORTED',
    message: /^NodeStageVolume on path "\/bench\/stage\/v" runs since/,
  });
  release.resolve();
  await first;
  await ask('NodeUnstageVolume');
});
