import assert from 'node:assert/strict';
import { test } from 'node:test';
import { features } from '../../../src/api/storage.ts';
import type { Capabilities } from '../../../src/api/storage.ts';
import { findDisagreements } from '../../../src/controller/capabilities.ts';
import { parseAdvertised, type Advertised } from '../../../src/csi/identity.ts';
import { sampleGroup, sampleSnapshot, sampleVolume } from '../../fakes/storage-api.ts';
import { everything, serveController } from './serving.ts';

const volume_capability = { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;
const create = { name: 'pvc-1', volume_capabilities: [volume_capability] };
const snapshot = { name: 'snap-1', source_volume_id: 'a.pvc-1' };
const accessibility_requirements = {
  requisite: [{ segments: { zone: 'a', rack: '' } }, { segments: { zone: 'b' } }],
  preferred: [{ segments: { zone: 'b' } }],
};
const asked = { requisite: [{ zone: 'a', rack: '' }, { zone: 'b' }], preferred: [{ zone: 'b' }] };
const topology = [{ zone: 'b' }];
const accessible = [{ segments: { zone: 'b' } }];
const everywhere = { ...everything, features: features.filter(feature => feature !== 'topology') };
const both: Advertised = ['topology', 'snapshot-topology'];
/** A storage in zone b. */
const placed = {
  createVolume: async () => sampleVolume({ topology }),
  getVolume: async () => sampleVolume({ topology }),
  listVolumes: async () => ({ volumes: [sampleVolume({ topology })] }),
  createSnapshot: async () => sampleSnapshot({ topology }),
  getSnapshot: async () => sampleSnapshot({ topology }),
  listSnapshots: async () => ({ snapshots: [sampleSnapshot({ topology })] }),
  getGroup: async () => sampleGroup({ snapshots: [sampleSnapshot({ topology })] }),
};

test('where a volume must be reached from is passed on, and where it is comes back', async t => {
  const served = { ...everything, advertised: both };
  const { csi, asked: calls } = await serveController(t, placed, served);
  const { volume } = await csi.controller.CreateVolume({ ...create, accessibility_requirements });
  assert.partialDeepStrictEqual(calls, [
    ['createVolume', { volumeId: 'a.pvc-1', body: { name: 'pvc-1', topology: asked } }],
  ]);
  assert.deepEqual(plain(volume?.accessible_topology), accessible);
  const { volume: shown } = await csi.controller.ControllerGetVolume({ volume_id: 'a.pvc-1' });
  assert.deepEqual(plain(shown?.accessible_topology), accessible);
  const { entries } = await csi.controller.ListVolumes({});
  assert.deepEqual(plain(entries[0]?.volume?.accessible_topology), accessible);
});

test('where a snapshot must be of use is passed on, and where it is comes back', async t => {
  const served = { ...everything, advertised: [...both, 'group-snapshots'] as const };
  const { csi, asked: calls } = await serveController(t, placed, served);
  const made = await csi.controller.CreateSnapshot({ ...snapshot, accessibility_requirements });
  assert.partialDeepStrictEqual(calls, [
    ['createSnapshot', { snapshotId: 'a.snap-1', body: { topology: asked } }],
  ]);
  assert.deepEqual(plain(made.snapshot?.accessible_topology), accessible);
  const shown = await csi.controller.GetSnapshot({ snapshot_id: 'a.snap-1' });
  assert.deepEqual(plain(shown.snapshot?.accessible_topology), accessible);
  const { entries } = await csi.controller.ListSnapshots({});
  assert.deepEqual(plain(entries[0]?.snapshot?.accessible_topology), accessible);
  const request = { group_snapshot_id: 'a.group-1', snapshot_ids: ['a.snap-1'] };
  const { group_snapshot } = await csi.groupController.GetVolumeGroupSnapshot(request);
  assert.deepEqual(plain(group_snapshot?.snapshots[0]?.accessible_topology), accessible);
});

test('without topology among the plugin capabilities nothing of it is told or taken', async t => {
  const { csi, asked: calls } = await serveController(t, placed, everything);
  assert.deepEqual((await csi.controller.CreateVolume(create)).volume?.accessible_topology, []);
  assert.deepEqual((await csi.controller.CreateSnapshot(snapshot)).snapshot?.accessible_topology, []);
  const before = calls.length;
  const refused = {
    code: 'INVALID_ARGUMENT',
    detail: /accessib[a-z_]+ is given, but this driver does not offer it/,
  };
  const { controller } = csi;
  await assert.rejects(controller.CreateVolume({ ...create, accessibility_requirements }), refused);
  await assert.rejects(controller.CreateSnapshot({ ...snapshot, accessibility_requirements }), refused);
  await assert.rejects(controller.GetCapacity({ accessible_topology: { segments: { zone: 'a' } } }), refused);
  assert.equal(calls.length, before);
});

test('snapshots can be left out of what is told', async t => {
  const { csi } = await serveController(t, placed, { ...everything, advertised: ['topology'] });
  const { volume } = await csi.controller.CreateVolume({ ...create, accessibility_requirements });
  assert.deepEqual(plain(volume?.accessible_topology), accessible);
  assert.deepEqual((await csi.controller.CreateSnapshot(snapshot)).snapshot?.accessible_topology, []);
  const work = csi.controller.CreateSnapshot({ ...snapshot, accessibility_requirements });
  await assert.rejects(work, { code: 'INVALID_ARGUMENT' });
});

test('a storage that is reached from everywhere meets every requirement, and is not asked', async t => {
  const { csi, asked: calls } = await serveController(t, {}, { ...everywhere, advertised: both });
  const { volume } = await csi.controller.CreateVolume({ ...create, accessibility_requirements });
  assert.deepEqual(volume?.accessible_topology, []);
  await csi.controller.CreateSnapshot({ ...snapshot, accessibility_requirements });
  await csi.controller.GetCapacity({ accessible_topology: { segments: { zone: 'a' } } });
  assert.doesNotMatch(JSON.stringify(calls), /topology/);
});

test('a requirement without terms is none, and one waits until the storage is known', async t => {
  const { csi, asked: calls } = await serveController(t, placed, { ...everything, advertised: both });
  await csi.controller.CreateVolume({ ...create, accessibility_requirements: {} });
  assert.doesNotMatch(JSON.stringify(calls), /topology/);
  await csi.controller.GetCapacity({ accessible_topology: { segments: {} } });
  await csi.controller.GetCapacity({ accessible_topology: { segments: { zone: 'a' } } });
  assert.deepEqual(calls.slice(-2), [
    ['getCapacity', { body: { parameters: {} } }],
    ['getCapacity', { body: { parameters: {}, topology: { zone: 'a' } } }],
  ]);
});

const words = 'group-snapshots,changed-blocks,topology,snapshot-topology';
const agreements: readonly (readonly [advertised: string, storage: Capabilities, says: readonly RegExp[]])[] =
  [
    [words, everything, []],
    ['none', { ...everything, features: [] }, []],
    ['group-snapshots,changed-blocks', everywhere, []],
    [
      'group-snapshots,changed-blocks',
      everything,
      [/the storage has "topology".*nodes that do not reach/, /"snapshot-topology"/],
    ],
    [
      'changed-blocks',
      { ...everything, features: [] },
      [/^--plugin-capabilities has "changed-blocks", and the storage does not/],
    ],
    [words, everywhere, [/has "topology", and the storage does not/, /has "snapshot-topology"/]],
    ['topology', { ...everything, features: ['topology'] }, []],
  ];
for (const [advertised, storage, says] of agreements) {
  test(`"${advertised}" before a storage with ${storage.features.length} features: ${says.length} warnings`, () => {
    const found = findDisagreements(parseAdvertised(advertised), storage);
    assert.equal(found.length, says.length, found.join('\n'));
    for (const [at, pattern] of says.entries()) assert.match(found[at] ?? '', pattern);
  });
}

/** Without the prototypes that the wire's messages have. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
