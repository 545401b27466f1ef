import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createKeyedQueue,
  pause,
  poll,
  repeat,
  unlessAborted,
  withinTime,
} from '../../../src/lib/concurrency.ts';

const never = new Promise<never>(() => {});
const reason = new Error('enough');

test('pause ends with the reason of its signal, before it began or while it waits', async () => {
  await pause(0);
  await assert.rejects(pause(60_000, AbortSignal.abort(reason)), reason);
  const controller = new AbortController();
  const waiting = pause(60_000, controller.signal);
  controller.abort(reason);
  await assert.rejects(waiting, reason);
});

test('unlessAborted gives the outcome of the work or the reason of the signal', async () => {
  const { signal } = new AbortController();
  assert.equal(await unlessAborted(signal, Promise.resolve(1)), 1);
  await assert.rejects(unlessAborted(signal, Promise.reject(reason)), reason);
  await assert.rejects(unlessAborted(AbortSignal.abort(reason), never), reason);
});

test('withinTime gives nothing for work that is late, and a failure as it is', async () => {
  assert.deepEqual(await withinTime(Promise.resolve(undefined), 60_000), { value: undefined });
  assert.equal(await withinTime(never, 1), undefined);
  await assert.rejects(withinTime(Promise.reject(reason), 60_000), reason);
});

test('poll looks until it sees something, and once more after its time', async () => {
  let looks = 0;
  assert.equal(
    await poll(() => (++looks === 3 ? 'seen' : undefined), { everyMs: 1, timeoutMs: 60_000 }),
    'seen',
  );
  looks = 0;
  assert.equal(await poll(async () => void looks++, { everyMs: 1, timeoutMs: 0 }), undefined);
  assert.equal(looks, 1);
});

test("poll ends in time though the machine's clock is set back", async t => {
  const now = Date.now();
  t.mock.timers.enable({ apis: ['Date'], now });
  let looks = 0;
  const look = (): true | undefined => {
    t.mock.timers.setTime(now - ++looks * 60_000);
    return looks > 100 || undefined;
  };
  assert.equal(await poll(look, { everyMs: 1, timeoutMs: 5 }), undefined);
});

test('a queue runs work on one key in order, after failures too, and other keys beside it', async () => {
  const queue = createKeyedQueue();
  const done: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = queue('a', async () => {
    await gate.promise;
    done.push('a1');
    throw reason;
  });
  const second = queue('a', async () => done.push('a2'));
  await queue('b', async () => done.push('b'));
  gate.resolve();
  await assert.rejects(first, reason);
  await second;
  assert.deepEqual(done, ['b', 'a1', 'a2']);
});

test('repeat runs work again and again, never twice at a time, and waits for it at its end', async () => {
  let [running, most, count] = [0, 0, 0];
  const { promise: thrice, resolve } = Promise.withResolvers<void>();
  const repetition = repeat(async () => {
    most = Math.max(most, ++running);
    await pause(3);
    running--;
    if (++count === 3) resolve();
  }, 1);
  await thrice;
  await repetition.close();
  assert.equal(running, 0);
  assert.equal(most, 1);
});
