import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFakeBench, openService } from '../../harness/node.ts';

const staging = ['NodeStageVolume', 'NodeUnstageVolume'] as const;
const publishing = ['NodePublishVolume', 'NodeUnpublishVolume'] as const;
const asking = ['NodeGetVolumeStats', 'NodeExpandVolume'] as const;
const all = [...staging, ...publishing, ...asking] as const;
type Rpc = (typeof all)[number] | 'NodeGetVolumeHealth';

async function open() {
  const bench = openFakeBench();
  return { ...(await openService(bench)), texts: bench.host.state.texts };
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

test('the node reports its identity and its capabilities', async () => {
  const { ask, segments } = await open();
  const info = { node_id: 'n1', max_volumes_per_node: 7 };
  assert.deepEqual(await ask('NodeGetInfo'), info);
  Object.assign(segments, { 'x/zone': 'a' });
  const accessible_topology = { segments: { 'x/zone': 'a' } };
  assert.deepEqual(await ask('NodeGetInfo'), { ...info, accessible_topology });
  const types = [
    'STAGE_UNSTAGE_VOLUME',
    'GET_VOLUME_STATS',
    'EXPAND_VOLUME',
    'GET_VOLUME_HEALTH',
    'GET_STORAGE_HEALTH',
    'SINGLE_NODE_MULTI_WRITER',
  ];
  assert.deepEqual(await ask('NodeGetCapabilities'), {
    capabilities: types.map(type => ({ rpc: { type } })),
  });
});

/** Requests, and the field that their error names. */
type Row = readonly [rpcs: readonly Rpc[], change: object, names: RegExp];

const flagged = {
  access_type: 'mount',
  mount: { fs_type: 'ext4', mount_flags: ['noatime,suid'], volume_mount_group: '' },
  block: null,
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
};

/** The calls that succeed for an id that no volume can have, because there is nothing to undo. */
const undoing: readonly Rpc[] = ['NodeUnpublishVolume', 'NodeUnstageVolume'];
const longId = 'x'.repeat(129);

const malformed: readonly Row[] = [
  [all, { volume_id: '' }, /volume_id is missing/],
  [all.filter(rpc => !undoing.includes(rpc)), { volume_id: longId }, /volume_id has 129 bytes/],
  [
    ['NodeStageVolume'],
    { volume_context: { encryption: 'luks' } },
    /"encryption": "luks", and the volume is not encrypted/,
  ],
  [staging, { staging_target_path: '' }, /staging_target_path is missing/],
  [staging, { staging_target_path: '/bench/../x' }, /is not normalized/],
  [staging, { staging_target_path: '/etc' }, /"\/etc" does not lie below/],
  [publishing, { target_path: '' }, /target_path is missing/],
  [publishing, { target_path: 'x' }, /"x" is not absolute/],
  [['NodeStageVolume', 'NodePublishVolume'], { volume_capability: null }, /volume_capability/],
  [['NodeStageVolume'], { publish_context: {} }, /has no protocol/],
  [
    ['NodeStageVolume'],
    { publish_context: { protocol: 'loop', device: '/dev/x' } },
    /unknown fields "device"/,
  ],
  [['NodeStageVolume'], { volume_capability: flagged }, /mount flag "noatime,suid" is not allowed for ext4/],
  [['NodeStageVolume'], { secrets: { big: 'x'.repeat(4_096) } }, /secrets has 4099 bytes/],
  [asking, { volume_path: '' }, /volume_path is missing/],
  [
    ['NodeExpandVolume'],
    { capacity_range: { required_bytes: '2', limit_bytes: '1' } },
    /limits the size to 1/,
  ],
];

const others: Readonly<Record<string, readonly Row[]>> = {
  INVALID_ARGUMENT: malformed,
  FAILED_PRECONDITION: [
    [['NodePublishVolume'], { staging_target_path: '' }, /staging_target_path is missing/],
    [['NodePublishVolume'], {}, /volume "c.v" is not staged/],
  ],
  NOT_FOUND: [
    [asking, { volume_path: 'some/path' }, /"some\/path"/],
    [asking, {}, /volume "c.v"/],
  ],
};

for (const [code, rows] of Object.entries(others))
  for (const [rpcs, change, names] of rows)
    for (const rpc of rpcs)
      test(`${rpc} with ${JSON.stringify(change).slice(0, 80)} is ${code}`, async () => {
        const { ask } = await open();
        await assert.rejects(ask(rpc, change), { code, message: names });
      });

test('a volume with an id that is too long or malformed is unpublished and unstaged: it was never here', async () => {
  for (const volume_id of [longId, 'é'.repeat(3_000), '../x', '.'])
    for (const rpc of undoing) {
      const { ask } = await open();
      assert.deepEqual(await ask(rpc, { volume_id }), {});
    }
});

test('a volume over a protocol without secrets is staged with any, and none is recorded', async () => {
  const { ask, texts } = await open();
  assert.deepEqual(await ask('NodeStageVolume', { secrets: { password: 'canary', other: 'canary' } }), {});
  assert.doesNotMatch(Array.from(texts.values()).join('\n'), /canary/);
});

test('a slash at the end of a path changes nothing in any call', async () => {
  const { ask, request } = await open();
  const paths = {
    staging_target_path: `${request.staging_target_path}/`,
    target_path: `${request.target_path}/`,
    volume_path: `${request.volume_path}/`,
    volume_publish_path: `${request.target_path}/`,
  };
  await ask('NodeStageVolume', paths);
  await ask('NodePublishVolume');
  for (const rpc of ['NodePublishVolume', ...asking] as const) await ask(rpc, paths);
  assert.deepEqual(await ask('NodeGetVolumeHealth', paths), {
    volume_health: { volume_id: request.volume_id, health_statuses: [] },
  });
  await ask('NodeUnpublishVolume', paths);
  await ask('NodeUnstageVolume', paths);
});
