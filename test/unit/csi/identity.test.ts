import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  advertisable,
  advertisedSetting,
  createIdentity,
  driverNameSetting,
  formatAdvertised,
  parseAdvertised,
  toVendorVersion,
  type AdvertisedCapabilities,
} from '../../../src/csi/identity.ts';
import { version } from '../../../src/lib/version.ts';

test("a driver's name is a domain name of at most 63 characters", () => {
  for (const name of ['csi.fairlead.dev', 'a', 'A-1.b', 'x'.repeat(63)])
    assert.equal(driverNameSetting.parse(name), name);
  for (const name of ['', '-a', 'a-', '.a', 'a.', 'a_b', 'a/b', 'a b', 'ü', 'x'.repeat(64)])
    assert.throws(() => driverNameSetting.parse(name), /is not a driver name/, name);
});

const sets = fc
  .subarray([...advertisable])
  .filter(words => words.includes('topology') || !words.includes('snapshot-topology'));

const shuffledSets = sets.chain(words =>
  fc.tuple(fc.constant(words), fc.shuffledSubarray(words, { minLength: words.length })),
);

test('capabilities are read in the format of the output, in any order', () => {
  fc.assert(
    fc.property(shuffledSets, ([words, shuffled]) => {
      assert.deepEqual(parseAdvertised(formatAdvertised(shuffled)), words);
      assert.deepEqual(parseAdvertised(shuffled.join(' , ') || 'none'), words);
    }),
  );
});

for (const [text, says] of [
  [
    '',
    /"" is not a plugin capability; use words of group-snapshots, changed-blocks, topology, snapshot-topology, or "none"/,
  ],
  ['topology,', /"" is not a plugin capability/],
  ['Topology', /"Topology" is not a plugin capability/],
  ['none,topology', /"none" is not a plugin capability/],
  ['toString', /"toString" is not a plugin capability/],
  ['topology,topology', /names a capability twice/],
  ['snapshot-topology', /"snapshot-topology" without "topology"/],
] as const)
  test(`"${text}" is refused as a list of capabilities`, () =>
    assert.throws(() => parseAdvertised(text), says));

test("each set has its own vendor version, and the default set has the release's", () => {
  const versions = new Map(
    fc.sample(sets, 200).map(words => [formatAdvertised(words), toVendorVersion('1.2.3', words)]),
  );
  assert.equal(new Set(versions.values()).size, versions.size);
  assert.equal(toVendorVersion('1.2.3', []), '1.2.3');
  assert.equal(toVendorVersion('1.2.3', ['topology']), '1.2.3+topology');
});

test('the default advertises nothing that needs more than the programs', () => {
  assert.deepEqual(parseAdvertised(advertisedSetting.default), []);
});

const rows: readonly (readonly [advertised: AdvertisedCapabilities, services: readonly string[]])[] = [
  [['changed-blocks'], ['SNAPSHOT_METADATA_SERVICE']],
  [['group-snapshots'], ['GROUP_CONTROLLER_SERVICE']],
  [[], []],
  [
    ['topology', 'snapshot-topology'],
    ['VOLUME_ACCESSIBILITY_CONSTRAINTS', 'SNAPSHOT_ACCESSIBILITY_CONSTRAINTS'],
  ],
];
for (const [advertised, services] of rows)
  test(`every instance advertises "${formatAdvertised(advertised)}" if that is set, ready or not`, async () => {
    const call = { deadlineMs: Infinity, requestId: 'r', signal: new AbortController().signal };
    for (const ready of [true, false]) {
      const identity = createIdentity({ driverName: 'csi.test', advertised, isReady: () => ready });
      assert.deepEqual((await identity.GetPluginCapabilities?.({}, call))?.capabilities, [
        { service: { type: 'CONTROLLER_SERVICE' } },
        ...services.map(type => ({ service: { type } })),
        { volume_expansion: { type: 'ONLINE' } },
      ]);
      const info = await identity.GetPluginInfo?.({}, call);
      assert.equal(info?.vendor_version, toVendorVersion(version, advertised));
      assert.deepEqual(await identity.Probe?.({}, call), { ready: { value: ready } });
    }
  });
