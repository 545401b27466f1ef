import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withNotice } from '../../../src/lib/words/notice.ts';

test('a long wait is announced within 2 s, and then every 10 s, and a short one is not', async t => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line.replace(/\(\d+ s\)$/, '(… s)'));
  const { promise, resolve } = Promise.withResolvers<number>();
  const waiting = withNotice(promise, 'the store', say);
  t.mock.timers.tick(1_000);
  assert.deepEqual(lines, []);
  t.mock.timers.tick(1_000);
  assert.deepEqual(lines, ['waiting for the store (… s)']);
  t.mock.timers.tick(10_000);
  assert.equal(lines.length, 2);
  resolve(7);
  assert.equal(await waiting, 7);
  t.mock.timers.tick(60_000);
  assert.equal(lines.length, 2);
});
