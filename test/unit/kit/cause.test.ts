import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectFilled, expectZeros } from '../../../src/kit/fixtures/bytes.ts';
import { causeOf } from '../../../src/kit/fixtures/cause.ts';
import type { Disk } from '../../../src/kit/fixtures/disk.ts';
import { isFinding } from '../../../src/kit/finding.ts';
import type { Exchange } from '../../../src/kit/http/exchange.ts';
import { toResults } from '../../../src/kit/report.ts';

const target = { url: new URL('http://vendor.example') };
const trail = [
  exchangeOf('PUT', '/v1/volumes/a'),
  exchangeOf('PUT', '/v1/volumes/b'),
  exchangeOf('PUT', '/v1/volumes/a/size'),
  exchangeOf('PUT', '/v1/volumes/a/attachments/n'),
  exchangeOf('DELETE', '/v1/volumes/a/attachments/n'),
];
const disk = { read: async (_, length) => Buffer.alloc(length, 1) } as Disk;

test('wrong bytes show the request that has broken them, and not the last one', async () => {
  const sizeBytes = 2 ** 20;
  const cause = causeOf({ trail }, 'expandVolume', { volumeId: 'a' });
  const filled = await failureOf(expectFilled(disk, { sizeBytes, word: 'own', cause }));
  assert.match(filled?.expected ?? '', /^expandVolume of "a" leaves "own 0" at byte 0, not/);
  assert.equal(filled?.exchange?.request.path, '/v1/volumes/a/size');
  assert.match(filled.curl ?? '', /-X PUT .*\/v1\/volumes\/a\/size'$/);
  const made = causeOf({ trail }, 'createVolume', { volumeId: 'b' });
  const zeros = await failureOf(expectZeros(disk, { from: 0, length: 1, cause: made }));
  assert.equal(zeros?.exchange?.request.path, '/v1/volumes/b');
});

test('an id that is not given stands for any, and the last such request counts', () => {
  const { by, exchange } = causeOf({ trail }, 'detachVolume', { volumeId: 'a' });
  assert.deepEqual([by, exchange], ['detachVolume of "a"', trail[4]]);
  assert.equal(causeOf({ trail }, 'createVolume', { volumeId: '.' }).exchange, null);
});

test('wrong bytes after an event that is no request show no exchange', async () => {
  const cause = { by: 'the restart', exchange: null };
  const failure = await failureOf(expectFilled(disk, { sizeBytes: 2 ** 20, word: 'own', cause }));
  assert.deepEqual([failure?.exchange, failure?.curl], [undefined, undefined]);
});

/** Returns the evidence in the report of a check that ends with this work. */
async function failureOf(work: Promise<void>) {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(isFinding(error));
  const [result] = toResults('FL-9.1-3', error, { seed: 1, tookMs: 1, target, trail });
  return result?.failure;
}

function exchangeOf(method: string, path: string): Exchange {
  return { request: { method, path, headers: {} }, tookMs: 1 };
}
