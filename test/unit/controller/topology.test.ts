import assert from 'node:assert/strict';
import { test } from 'node:test';
import { features, type Capabilities } from '../../../src/api/storage.ts';
import { findDisagreements } from '../../../src/controller/capabilities.ts';
import { parseAdvertised, type AdvertisedCapabilities } from '../../../src/csi/identity.ts';
import { sampleGroup, sampleSnapshot, sampleVolume } from '../../fakes/storage-api.ts';
import { callRpc, everything, openController } from '../../harness/controller.ts';

const volume_capability = { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;
const volume = { name: 'pvc-1', volume_capabilities: [volume_capability] };
const snapshot = { name: 'snap-1', source_volume_id: 'a.pvc-1' };
const accessibility_requirements = {
  requisite: [{ segments: { zone: 'a', rack: '' } }, { segments: { zone: 'b' } }],
  preferred: [{ segments: { zone: 'b' } }],
};
const asked = { requisite: [{ zone: 'a', rack: '' }, { zone: 'b' }], preferred: [{ zone: 'b' }] };
const topology = [{ zone: 'b' }];
const accessible = { accessible_topology: [{ segments: { zone: 'b' } }] };
const inZone = { segments: { zone: 'a' } };
const everywhere = { ...everything, features: features.filter(feature => feature !== 'topology') };
const both: AdvertisedCapabilities = ['group-snapshots', 'topology', 'snapshot-topology'];
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

test('the topology requirement of a volume is passed on, and its topology comes back', async t => {
  const served = await openController(t, placed, { ...everything, advertised: both });
  const create = { ...volume, accessibility_requirements };
  for (const [rpc, request, answer] of [
    ['CreateVolume', create, { volume: accessible }],
    ['ControllerGetVolume', { volume_id: 'a.pvc-1' }, { volume: accessible }],
    ['ListVolumes', {}, { entries: [{ volume: accessible }] }],
  ] as const)
    assert.partialDeepStrictEqual(await callRpc(served, rpc, request), answer);
  assert.partialDeepStrictEqual(served.asked, [['createVolume', { body: { topology: asked } }]]);
});

test('of very many preferred topologies beside required ones, the first are passed on', async t => {
  const terms = Array.from({ length: 5_000 }, (_, index) => ({ segments: { zone: `z${index}` } }));
  const segments = terms.map(term => term.segments);
  for (const [requisite, sent] of [
    [terms, { requisite: segments, preferred: segments.slice(0, 256) }],
    [[], { requisite: [], preferred: segments }],
  ] as const) {
    const served = await openController(t, placed, { ...everything, advertised: both });
    const asking = { ...volume, accessibility_requirements: { requisite, preferred: terms } };
    await callRpc(served, 'CreateVolume', asking);
    assert.partialDeepStrictEqual(served.asked, [['createVolume', { body: { topology: sent } }]]);
  }
});

test('the topology requirement of a snapshot is passed on, and its topology comes back', async t => {
  const served = await openController(t, placed, { ...everything, advertised: both });
  const group = { group_snapshot_id: 'a.group-1', snapshot_ids: ['a.snap-1'] };
  for (const [rpc, request, answer] of [
    ['CreateSnapshot', { ...snapshot, accessibility_requirements }, { snapshot: accessible }],
    ['GetSnapshot', { snapshot_id: 'a.snap-1' }, { snapshot: accessible }],
    ['ListSnapshots', {}, { entries: [{ snapshot: accessible }] }],
    ['GetVolumeGroupSnapshot', group, { group_snapshot: { snapshots: [accessible] } }],
  ] as const)
    assert.partialDeepStrictEqual(await callRpc(served, rpc, request), answer);
  assert.partialDeepStrictEqual(served.asked, [['createSnapshot', { body: { topology: asked } }]]);
});

for (const [advertised, refused] of [
  ['none', ['volume', 'snapshot', 'capacity']],
  ['topology', ['snapshot']],
] as const)
  test(`with the plugin capabilities "${advertised}" a requirement on ${refused.join(', ')} is refused`, async t => {
    const words = parseAdvertised(advertised);
    const served = await openController(t, placed, { ...everything, advertised: words });
    for (const [what, rpc, request, requirement] of [
      ['volume', 'CreateVolume', volume, { accessibility_requirements }],
      ['snapshot', 'CreateSnapshot', snapshot, { accessibility_requirements }],
      ['capacity', 'GetCapacity', {}, { accessible_topology: inZone }],
    ] as const) {
      const isRefused = (refused as readonly string[]).includes(what);
      const expected = isRefused && what !== 'capacity' ? { [what]: { accessible_topology: [] } } : {};
      assert.partialDeepStrictEqual(await callRpc(served, rpc, request), expected);
      const before = served.asked.length;
      const work = callRpc(served, rpc, { ...request, ...requirement });
      if (isRefused)
        await assert.rejects(work, { code: 'INVALID_ARGUMENT', detail: /is set, but this driver/ });
      else await work;
      assert.equal(served.asked.length, before + (isRefused ? 0 : 1));
    }
  });

test('a storage that is reachable from everywhere meets every requirement without a request', async t => {
  const served = await openController(t, {}, { ...everywhere, advertised: both });
  const answer = await callRpc(served, 'CreateVolume', { ...volume, accessibility_requirements });
  assert.partialDeepStrictEqual(answer, { volume: { accessible_topology: [] } });
  await callRpc(served, 'CreateSnapshot', { ...snapshot, accessibility_requirements });
  await callRpc(served, 'GetCapacity', { accessible_topology: inZone });
  assert.doesNotMatch(JSON.stringify(served.asked), /topology/);
});

test('a requirement without terms counts as none', async t => {
  const served = await openController(t, placed, { ...everything, advertised: both });
  await callRpc(served, 'CreateVolume', { ...volume, accessibility_requirements: {} });
  await callRpc(served, 'GetCapacity', { accessible_topology: { segments: {} } });
  assert.doesNotMatch(JSON.stringify(served.asked), /topology/);
  await callRpc(served, 'GetCapacity', { accessible_topology: inZone });
  const body = { parameters: {}, topology: { zone: 'a' } };
  assert.deepEqual(served.asked.at(-1), ['getCapacity', { body }]);
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
      [/the storage supports "topology"/, /"snapshot-topology"/],
    ],
    [
      'changed-blocks',
      { ...everything, features: [] },
      [/^--plugin-capabilities has "changed-blocks" but the storage does not/],
    ],
    [words, everywhere, [/has "topology" but the storage does not/, /has "snapshot-topology"/]],
    ['topology', { ...everything, features: ['topology'] }, []],
  ];
for (const [advertised, storage, says] of agreements) {
  test(`"${advertised}" before a storage with ${storage.features.length} features: ${says.length} warnings`, () => {
    const found = findDisagreements(parseAdvertised(advertised), storage);
    assert.equal(found.length, says.length, found.join('\n'));
    for (const [at, pattern] of says.entries()) assert.match(found[at] ?? '', pattern);
  });
}
