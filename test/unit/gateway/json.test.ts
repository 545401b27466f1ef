import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sameJson } from '../../../src/lib/json.ts';

const rows: readonly (readonly [unknown, unknown, boolean])[] = [
  [{ a: 1, b: [1, { c: 'x' }] }, { b: [1, { c: 'x' }], a: 1 }, true],
  [{ a: 1, b: undefined }, { a: 1 }, true],
  [undefined, undefined, true],
  [{ a: 1 }, { a: 2 }, false],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [[1, 2], [2, 1], false],
  [[1], [1, 2], false],
  [[], {}, false],
  [null, {}, false],
  ['1', 1, false],
];
for (const [one, other, same] of rows) {
  test(`${JSON.stringify(one)} and ${JSON.stringify(other)} are ${same ? 'equal' : 'different'}`, () => {
    assert.equal(sameJson(one, other), same);
    assert.equal(sameJson(other, one), same);
  });
}
