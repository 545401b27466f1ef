import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKeyedLock, type Holder } from '../../../src/lib/keyed-lock.ts';

const busy = ({ operation, sinceMs }: Holder): Error => new Error(`${operation} since ${sinceMs}`);
const idle = async (): Promise<void> => {};

test('a busy key is refused at once, and the error tells who holds it since when', async () => {
  const lock = createKeyedLock();
  const held = Promise.withResolvers<void>();
  const startMs = Date.now();
  const first = lock.run('v', { operation: 'stage', busy }, () => held.promise);
  let began = false;
  const second = lock.run('v', { operation: 'unstage', busy }, async () => {
    began = true;
  });
  await assert.rejects(second, error => {
    const since = Number(/^stage since (\d+)$/.exec((error as Error).message)?.[1]);
    return since >= startMs && since <= Date.now();
  });
  assert.equal(began, false);
  held.resolve();
  await first;
});

test('keys do not disturb each other', async () => {
  const lock = createKeyedLock();
  const held = Promise.withResolvers<void>();
  const first = lock.run('a', { operation: 'stage', busy }, () => held.promise);
  assert.equal(await lock.run('b', { operation: 'stage', busy }, async () => 5), 5);
  assert.equal(lock.size, 1);
  held.resolve();
  await first;
});

for (const [name, work] of [
  ['succeeds', idle],
  ['fails', () => Promise.reject(new Error('no'))],
  [
    'throws before its first await',
    () => {
      throw new Error('no');
    },
  ],
] as const) {
  test(`a key is free again when its work ${name}`, async () => {
    const lock = createKeyedLock();
    await lock.run<void>('v', { operation: 'stage', busy }, work).catch(() => {});
    assert.equal(lock.size, 0);
    assert.equal(await lock.run('v', { operation: 'stage', busy }, async () => 5), 5);
  });
}

test('a refused call does not free the key of the one that holds it', async () => {
  const lock = createKeyedLock();
  const held = Promise.withResolvers<void>();
  const first = lock.run('v', { operation: 'stage', busy }, () => held.promise);
  await assert.rejects(lock.run('v', { operation: 'stage', busy }, idle));
  await assert.rejects(lock.run('v', { operation: 'stage', busy }, idle));
  held.resolve();
  await first;
  assert.equal(lock.size, 0);
});
