import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detachedNodes, requireConsistent } from '../../../src/kit/http/contradiction.ts';
import type { Exchange } from '../../../src/kit/http/exchange.ts';

const volume = '/v1/volumes/v';
const attachment = `${volume}/attachments/n%201`;

test('a volume or an attachment that was answered as done and reads as unfinished is a fault of FL-1.3-2', () => {
  for (const [path, state] of [
    [volume, 'creating'],
    [attachment, 'attaching'],
  ] as const)
    for (const status of [200, 201])
      assert.throws(() => requireConsistent([exchangeOf('PUT', path, status)], read(path, state)), {
        requirement: 'FL-1.3-2',
      });
});

test('a volume that was detached and reads as attached is a fault of FL-4.3-1', () => {
  const trail = [exchangeOf('PUT', attachment, 201), exchangeOf('DELETE', attachment, 204)];
  assert.throws(() => requireConsistent(trail, read(attachment, 'attached')), { requirement: 'FL-4.3-1' });
  assert.deepEqual(detachedNodes(trail, 'v'), ['n 1']);
  assert.deepEqual(detachedNodes([...trail, exchangeOf('PUT', attachment, 201)], 'v'), []);
});

test('an answer contradicts none to another path, to an earlier change, to a lost one, or to one under way', () => {
  for (const trail of [
    [exchangeOf('PUT', `${volume}2`, 201)],
    [exchangeOf('PUT', volume, 201), exchangeOf('DELETE', volume, 202)],
    [exchangeOf('PUT', volume, 202)],
    [exchangeOf('PUT', volume)],
  ])
    requireConsistent(trail, read(volume, 'creating'));
  const again = [exchangeOf('DELETE', attachment, 204), exchangeOf('PUT', attachment, 201)];
  requireConsistent(again, read(attachment, 'attached'));
});

function read(path: string, state: string): Exchange {
  return exchangeOf('GET', path, 200, { state });
}

/** Makes an exchange with an answer of this status, or with a lost one. */
function exchangeOf(method: string, path: string, ...[status, body]: readonly [number?, object?]): Exchange {
  const answer = status === undefined ? {} : { answer: { status, headers: {}, text: '', body } };
  return { request: { method, path, headers: {} }, ...answer, tookMs: 1 };
}
