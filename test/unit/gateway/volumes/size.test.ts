import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assert as check, nat, property } from 'fast-check';
import { chooseSize, isWithin } from '../../../../gateway/volumes/size.ts';
import { Problem } from '../../../../src/api/problem.ts';

const bounds = { minimumBytes: 4, maximumBytes: 1_000, stepBytes: 4, defaultBytes: 100 };

const rows = [
  { requiredBytes: 0, limitBytes: 0, size: 100 },
  { requiredBytes: 0, limitBytes: 50, size: 48 },
  { requiredBytes: 1, limitBytes: 0, size: 4 },
  { requiredBytes: 5, limitBytes: 8, size: 8 },
  { requiredBytes: 5, limitBytes: 7, size: undefined },
  { requiredBytes: 0, limitBytes: 3, size: undefined },
  { requiredBytes: 1_000, limitBytes: 0, size: 1_000 },
  { requiredBytes: 1_001, limitBytes: 0, size: undefined },
];
for (const { requiredBytes, limitBytes, size } of rows) {
  test(`from ${requiredBytes} to ${limitBytes} bytes ${size === undefined ? 'is OUT_OF_RANGE' : `gives ${size}`}`, () => {
    assert.equal(choose({ requiredBytes, limitBytes }), size);
  });
}

test('a chosen size is always within the request and the possible sizes', () => {
  check(
    property(nat(1_200), nat(1_200), (requiredBytes, limitBytes) => {
      const size = choose({ requiredBytes, limitBytes });
      const candidates = Array.from({ length: 250 }, (_, index) => 4 * (index + 1));
      const fitting = candidates.filter(
        candidate => candidate >= requiredBytes && (limitBytes === 0 || candidate <= limitBytes),
      );
      if (size === undefined) assert.deepEqual(fitting, []);
      else assert.ok(fitting.includes(size));
    }),
  );
});

test('a size that a storage reports is within the request, and is not 0 bytes', () => {
  const asked = { requiredBytes: 4, limitBytes: 8 };
  const sizes = [0, 3, 4, 8, 9, Number.NaN, 4.5, Infinity];
  assert.deepEqual(
    sizes.filter(size => isWithin(size, asked)),
    [4, 8],
  );
  assert.deepEqual(
    sizes.filter(size => isWithin(size, {})),
    [3, 4, 8, 9],
  );
});

function choose(asked: { requiredBytes: number; limitBytes: number }): number | undefined {
  try {
    return chooseSize(asked, bounds);
  } catch (error) {
    assert.ok(error instanceof Problem && error.code === 'OUT_OF_RANGE');
    return undefined;
  }
}
