import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, assert as assertProperty, boolean, integer, nat, property, record } from 'fast-check';
import { shareCount } from '../../../../gateway/store.ts';
import { needsLock } from '../../../../gateway/tables/shares.ts';
import { seed } from '../../../harness/sample.ts';

/** A request for more in a transaction with this share, or the end of the transaction that has the share. */
const steps = array(
  record({ share: nat(shareCount - 1), more: integer({ min: 1, max: 400 }), ends: boolean() }),
  { minLength: 500, maxLength: 500 },
);

test('the limit holds in any order of decisions and commits, and shares suffice far from it', () => {
  assertProperty(
    property(integer({ min: 1, max: 100_000 }), nat(), steps, (limit, start, all) => {
      let used = start % (limit + 1);
      /** The usage that decided transactions have not committed yet, by their shares. */
      const decided = new Map<number, number>();
      for (const { share, more, ends } of all) {
        used += (ends && decided.get(share)) || 0;
        if (ends) decided.delete(share);
        else if (!decided.has(share) && used + more <= limit) {
          if (!needsLock(limit, used, more)) decided.set(share, more);
          else if (decided.size === 0) used += more;
        }
        assert.ok(used + decided.values().reduce((total, one) => total + one, 0) <= limit);
      }
    }),
    { seed },
  );
  assert.equal(needsLock(256, 0, 1), false);
  assert.equal(needsLock(256, 240, 1), false);
});

test('a request near the limit or of a large part of it needs the lock, and one that does not fit does not', () => {
  assert.equal(needsLock(256, 241, 1), true);
  assert.equal(needsLock(256, 0, 2), true);
  assert.equal(needsLock(256, 0, 256), true);
  assert.equal(needsLock(256, 255, 2), false);
  assert.equal(needsLock(256, 256, 0), false);
});
