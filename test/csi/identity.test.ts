import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDriverName } from '../../src/csi/identity.ts';

for (const name of ['csi.fairlead.dev', 'a', 'A-1.b', 'x'.repeat(63)]) {
  test(`${name} is a driver's name`, () => assert.equal(parseDriverName(name), name));
}

for (const name of ['', '-a', 'a-', '.a', 'a.', 'a_b', 'a/b', 'a b', 'ü', 'x'.repeat(64)]) {
  test(`"${name}" is no driver's name`, () =>
    assert.throws(() => parseDriverName(name), /is not a driver name/));
}
