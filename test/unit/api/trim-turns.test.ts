import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { trimEndAt, turnCount, turnRanges } from '../../../src/api/attachments/trim-turns.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const startMs = Date.UTC(2026, 0, 1);
const days = 14;

type Schedule = readonly [turn: number, trimming: 'daily' | 'weekly'];

const schedule: fc.Arbitrary<Schedule> = fc.tuple(
  fc.nat({ max: turnCount - 1 }),
  fc.constantFrom('daily' as const, 'weekly' as const),
);

/** Lists the minutes of a fortnight in which a volume may be trimmed. */
function minutesOf([number, often]: Schedule): ReadonlySet<number> {
  const all = Array.from({ length: (days * dayMs) / minuteMs }, (_, minute) => minute);
  return new Set(all.filter(minute => trimEndAt(startMs + minute * minuteMs, number, often) !== undefined));
}

test('two turns never have the same minute of a fortnight', () => {
  fc.assert(
    fc.property(schedule, schedule, (one, other) => {
      fc.pre(one[0] !== other[0]);
      const both = minutesOf(one).intersection(minutesOf(other));
      assert.deepEqual([...both], []);
    }),
    { numRuns: 25 },
  );
});

test('each moment belongs to one turn alone', () => {
  fc.assert(
    fc.property(fc.nat({ max: 7 * dayMs - 1 }), ms => {
      const owners = Array.from({ length: turnCount }, (_, number) => number).filter(
        number => trimEndAt(startMs + ms, number, 'daily') !== undefined,
      );
      assert.equal(owners.length, 1);
    }),
    { numRuns: 20 },
  );
});

for (const [often, number, windows] of [
  ['daily', 0, 14],
  ['daily', 359, 14],
  ['weekly', 0, 2],
  ['weekly', 359, 2],
  ['daily', 360, 2],
  ['weekly', 360, 2],
  ['weekly', turnCount - 1, 2],
] as const)
  test(`turn ${number} has ${windows} windows of two minutes in a fortnight, ${often}`, () => {
    const minutes = [...minutesOf([number, often])];
    assert.equal(minutes.length, 2 * windows);
    for (const minute of minutes) {
      const atMs = startMs + minute * minuteMs;
      const leftMs = Number(trimEndAt(atMs, number, often)) - atMs;
      assert.equal(leftMs, minute % 2 === 0 ? 2 * minuteMs : minuteMs);
    }
  });

test('the ranges of both periods are all turns, once each', () => {
  for (const often of ['daily', 'weekly'] as const) {
    const ranges = turnRanges(often).toSorted(([a], [b]) => a - b);
    assert.deepEqual(ranges, [
      [0, 360],
      [360, turnCount],
    ]);
  }
  assert.deepEqual(
    [turnRanges('daily')[0], turnRanges('weekly')[0]],
    [
      [0, 360],
      [360, turnCount],
    ],
  );
});
