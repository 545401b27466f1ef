import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createIdentity } from '../../../src/csi/identity.ts';
import {
  advertisable,
  advertisedByDefault,
  advertisedSetting,
  parseAdvertised,
  formatAdvertised,
  toVendorVersion,
  type Advertised,
} from '../../../src/csi/identity.ts';
import { version } from '../../../src/lib/version.ts';

const call = { deadlineMs: Number.POSITIVE_INFINITY, requestId: 'r', signal: new AbortController().signal };

const sets = fc
  .subarray([...advertisable])
  .filter(words => words.includes('topology') || !words.includes('snapshot-topology'));

test('what is advertised is read as it is shown, in any order', () => {
  fc.assert(
    fc.property(
      sets.chain(words =>
        fc.tuple(fc.constant(words), fc.shuffledSubarray(words, { minLength: words.length })),
      ),
      ([words, shuffled]) => {
        assert.deepEqual(parseAdvertised(formatAdvertised(shuffled)), words);
        assert.deepEqual(parseAdvertised(shuffled.join(' , ') || 'none'), words);
      },
    ),
  );
});

test('each set has a vendor version of its own, and the default has that of the release', () => {
  const all = fc.sample(sets, 200);
  const versions = new Map(all.map(words => [formatAdvertised(words), toVendorVersion('1.2.3', words)]));
  assert.equal(new Set(versions.values()).size, versions.size);
  assert.equal(toVendorVersion('1.2.3', advertisedByDefault), '1.2.3');
  assert.equal(toVendorVersion('1.2.3', ['topology']), '1.2.3+topology');
  assert.equal(toVendorVersion('1.2.3', []), '1.2.3+none');
  assert.equal(
    toVendorVersion('1.2.3', advertisable),
    '1.2.3+group-snapshots.changed-blocks.topology.snapshot-topology',
  );
});

const bad = [
  ['', /"" is not one of group-snapshots, changed-blocks, topology, snapshot-topology, or none/],
  ['topology,', /"" is not one of/],
  ['Topology', /"Topology" is not one of/],
  ['none,topology', /"none" is not one of/],
  ['toString', /"toString" is not one of/],
  ['topology,topology', /names something twice/],
  ['snapshot-topology', /"snapshot-topology" needs "topology"/],
] as const;
for (const [text, says] of bad) {
  test(`"${text}" is nothing to advertise`, () => assert.throws(() => parseAdvertised(text), says));
}

const rows: readonly (readonly [advertised: Advertised | undefined, services: readonly string[]])[] = [
  [undefined, ['GROUP_CONTROLLER_SERVICE', 'SNAPSHOT_METADATA_SERVICE']],
  [[], []],
  [['topology'], ['VOLUME_ACCESSIBILITY_CONSTRAINTS']],
  [
    ['topology', 'snapshot-topology'],
    ['VOLUME_ACCESSIBILITY_CONSTRAINTS', 'SNAPSHOT_ACCESSIBILITY_CONSTRAINTS'],
  ],
];
for (const [advertised, services] of rows) {
  test(`the plugin tells what is set: ${advertised ? formatAdvertised(advertised) : 'nothing'}`, async () => {
    const told = { driverName: 'csi.test', isReady: () => true, ...(advertised && { advertised }) };
    const identity = createIdentity(told);
    const capabilities = (await identity.GetPluginCapabilities?.({}, call))?.capabilities;
    assert.deepEqual(capabilities, [
      { service: { type: 'CONTROLLER_SERVICE' } },
      ...services.map(type => ({ service: { type } })),
      { volume_expansion: { type: 'ONLINE' } },
    ]);
    const info = await identity.GetPluginInfo?.({}, call);
    assert.equal(info?.vendor_version, toVendorVersion(version, advertised ?? advertisedByDefault));
  });
}

test('the default does not advertise topology: clusters then expect every node to tell where it is', () => {
  assert.deepEqual(parseAdvertised(advertisedSetting.default), ['group-snapshots', 'changed-blocks']);
});
