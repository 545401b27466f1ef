import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  createKeyedQueue,
  pause,
  poll,
  repeat,
  startTimeLimit,
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

test('repeat waits no longer than it is told, and each time another while', async t => {
  const timers = t.mock.method(globalThis, 'setTimeout');
  const repetitions = Array.from({ length: 20 }, () => repeat(async () => undefined, 60_000));
  await Promise.all(repetitions.map(one => one.close()));
  const pauses = timers.mock.calls.map(({ arguments: [, ms] }) => Number(ms));
  assert.equal(new Set(pauses).size, 20);
  assert.ok(
    pauses.every(ms => ms >= 30_000 && ms <= 60_000),
    String(pauses),
  );
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

/** Both clocks, as the test sets them. */
function setClocks(t: TestContext) {
  t.mock.timers.enable({ apis: ['Date'], now: 10_000_000 });
  let elapsedMs = 0;
  t.mock.method(performance, 'now', () => elapsedMs);
  return (wallMs: number, monotonicMs: number): void => {
    t.mock.timers.setTime(10_000_000 + wallMs);
    elapsedMs = monotonicMs;
  };
}

const times: readonly (readonly [name: string, wallMs: number, monotonicMs: number, isOver: boolean])[] = [
  ['is not over before it is by either clock', 99, 99, false],
  ['is over by both clocks', 100, 100, true],
  ['is over though the clock on the wall went back', -3_600_000, 100, true],
  ['is over though the machine slept', 100, 0, true],
];
for (const [name, wallMs, monotonicMs, isOver] of times)
  test(`a time limit ${name}`, t => {
    const set = setClocks(t);
    const limit = startTimeLimit(100);
    set(wallMs, monotonicMs);
    assert.equal(limit(), isOver);
  });

test('a time limit without an end is never over, and one of no time at once', t => {
  const set = setClocks(t);
  const [endless, none] = [startTimeLimit(Infinity), startTimeLimit(0)];
  set(1e9, 1e9);
  assert.deepEqual([endless(), none()], [false, true]);
});
