import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMeasure } from '../../../../gateway/scheduling/measure.ts';

/** Returns the charge per request after many requests of 1 ms on an event loop that works this long for each. */
function chargeAfter(eachMs: number, exclude = 0): number {
  let activeMs = 0;
  const { charge, exclude: leaveOut } = createMeasure(() => activeMs);
  let chargedMs = 0;
  for (let count = 0; count < 1_000; count++) {
    activeMs += eachMs + exclude;
    leaveOut(exclude);
    chargedMs = charge(1);
  }
  return Math.round(chargedMs * 10) / 10;
}

test('a request is charged the usual cost of such requests, within bounds', () => {
  assert.deepEqual(
    [2.5, 0.1, 100].map(eachMs => chargeAfter(eachMs)),
    [2.5, 1, 4],
  );
});

test('work that is measured separately is not charged to requests', () => {
  assert.equal(chargeAfter(2, 10), 2);
});

test('a request is charged its estimate if its cost cannot be measured', () => {
  assert.equal(chargeAfter(0), 1);
});
