import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readWaitMs } from '../../../../gateway/http/handle.ts';

const rows = [
  { prefer: undefined, waitMs: 30_000 },
  { prefer: 'wait=5', waitMs: 5_000 },
  { prefer: 'wait=0', waitMs: 0 },
  { prefer: 'Wait = "7"', waitMs: 7_000 },
  { prefer: 'respond-async, wait=10', waitMs: 10_000 },
  { prefer: 'wait=10; note=x, handling=lenient', waitMs: 10_000 },
  { prefer: 'wait=100000', waitMs: 60_000 },
  { prefer: 'wait=-1', waitMs: 30_000 },
  { prefer: 'wait=soon', waitMs: 30_000 },
  { prefer: 'await=3', waitMs: 30_000 },
];
for (const { prefer, waitMs } of rows) {
  test(`Prefer: ${prefer} waits ${waitMs} ms`, () => {
    assert.equal(readWaitMs(prefer), waitMs);
  });
}
