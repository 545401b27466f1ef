import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMeasure } from '../../../../gateway/tenancy/measure.ts';

/** A measure of an event loop that is at work for so long with each request of 1 ms, and what many requests are charged in the end. */
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

test('a request is charged what such requests take, within bounds', () => {
  assert.deepEqual(
    [2.5, 0.1, 100].map(eachMs => chargeAfter(eachMs)),
    [2.5, 1, 4],
  );
});

test('work that is measured by itself is not charged to requests', () => {
  assert.equal(chargeAfter(2, 10), 2);
});

test('a request is charged what it was thought to take where nothing tells what it takes', () => {
  assert.equal(chargeAfter(0), 1);
});
