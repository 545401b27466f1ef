import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIdentity, parseDriverName } from '../../../src/csi/identity.ts';

for (const name of ['csi.fairlead.dev', 'a', 'A-1.b', 'x'.repeat(63)]) {
  test(`${name} is a driver's name`, () => assert.equal(parseDriverName(name), name));
}

for (const name of ['', '-a', 'a-', '.a', 'a.', 'a_b', 'a/b', 'a b', 'ü', 'x'.repeat(64)]) {
  test(`"${name}" is no driver's name`, () =>
    assert.throws(() => parseDriverName(name), /is not a driver name/));
}

test('every instance of one version tells the same of the plugin, ready or not', async () => {
  const call = { deadlineMs: Number.POSITIVE_INFINITY, requestId: 'r', signal: new AbortController().signal };
  const told = await Promise.all(
    [true, false].map(ready =>
      createIdentity({ driverName: 'csi.test', isReady: () => ready }).GetPluginCapabilities?.({}, call),
    ),
  );
  assert.deepEqual(told[0], told[1]);
  assert.deepEqual(told[0]?.capabilities, [
    { service: { type: 'CONTROLLER_SERVICE' } },
    { service: { type: 'GROUP_CONTROLLER_SERVICE' } },
    { service: { type: 'SNAPSHOT_METADATA_SERVICE' } },
    { volume_expansion: { type: 'ONLINE' } },
  ]);
});
