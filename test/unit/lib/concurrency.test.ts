import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  createKeyedLock,
  createKeyedQueue,
  forEachAtMost,
  patienceUntil,
  pause,
  poll,
  repeat,
  startTimeLimit,
  unlessAborted,
  withinTime,
  type KeyUse,
  type LockWait,
} from '../../../src/lib/concurrency.ts';

const never = new Promise<never>(() => {});
const reason = new Error('enough');

test("pause ends with its signal's reason, before or during the wait", async () => {
  await pause(0);
  await assert.rejects(pause(60_000, AbortSignal.abort(reason)), reason);
  const controller = new AbortController();
  const waiting = pause(60_000, controller.signal);
  controller.abort(reason);
  await assert.rejects(waiting, reason);
});

test('unlessAborted returns the outcome of the work or throws the reason of the signal', async () => {
  const { signal } = new AbortController();
  assert.equal(await unlessAborted(signal, Promise.resolve(1)), 1);
  await assert.rejects(unlessAborted(signal, Promise.reject(reason)), reason);
  await assert.rejects(unlessAborted(AbortSignal.abort(reason), never), reason);
});

test('withinTime returns nothing for late work, and passes a failure on', async () => {
  assert.deepEqual(await withinTime(Promise.resolve(undefined), 60_000), { value: undefined });
  assert.equal(await withinTime(never, 1), undefined);
  await assert.rejects(withinTime(Promise.reject(reason), 60_000), reason);
});

test('poll looks until it finds something, and once more after its time', async () => {
  let looks = 0;
  assert.equal(
    await poll(() => (++looks === 3 ? 'seen' : undefined), { everyMs: 1, timeoutMs: 60_000 }),
    'seen',
  );
  looks = 0;
  assert.equal(await poll(async () => void looks++, { everyMs: 1, timeoutMs: 0 }), undefined);
  assert.equal(looks, 1);
});

test("poll ends in time even if the machine's clock is set back", async t => {
  const now = Date.now();
  t.mock.timers.enable({ apis: ['Date'], now });
  let looks = 0;
  const look = (): true | undefined => {
    t.mock.timers.setTime(now - ++looks * 60_000);
    return looks > 100 || undefined;
  };
  assert.equal(await poll(look, { everyMs: 1, timeoutMs: 5 }), undefined);
});

test('a queue runs work on one key in order, after failures too, and on other keys concurrently', async () => {
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

test('repeat waits at most its interval, each time a different one', async t => {
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

test('repeat runs work repeatedly, never concurrently, and waits for it at its end', async () => {
  let [running, max, count] = [0, 0, 0];
  const { promise: thrice, resolve } = Promise.withResolvers<void>();
  const repetition = repeat(async () => {
    max = Math.max(max, ++running);
    await pause(3);
    running--;
    if (++count === 3) resolve();
  }, 1);
  await thrice;
  await repetition.close();
  assert.equal(running, 0);
  assert.equal(max, 1);
});

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

test('a time limit without an end never passes, and one of zero passes at once', t => {
  const set = setClocks(t);
  const [endless, none] = [startTimeLimit(Infinity), startTimeLimit(0)];
  set(1e9, 1e9);
  assert.deepEqual([endless(), none()], [false, true]);
});

const busy = (key: string, holder: string, isHeld: boolean) =>
  new Error(`${key}: ${holder}${isHeld ? '' : ' waits'}`);

/** Opens a lock, and callers that enter it under a name and leave on command; `names` lists those inside. */
function openLock(limits = { maxWaiting: 9, maxShared: 2 }) {
  const lock = createKeyedLock<string>(limits);
  const inside = new Map<string, Disposable>();
  return {
    lock,
    names: () => [...inside.keys()],
    async enter(name: string, uses: readonly KeyUse[], wait: Partial<LockWait<string>> = {}) {
      inside.set(name, await lock.acquire(uses, name, { timeoutMs: 60_000, busy, ...wait }));
    },
    async leave(name: string): Promise<void> {
      inside.get(name)?.[Symbol.dispose]();
      inside.delete(name);
      await pause(0);
    },
  };
}

const alone = [{ key: 'k' }];
const shared = [{ key: 'k', isShared: true }];

test('a lock admits callers in order, and callers that share a key concurrently', async () => {
  const { enter, leave, names } = openLock();
  const all = [
    enter('a', shared),
    enter('b', shared),
    enter('c', shared),
    enter('d', alone),
    enter('e', shared),
  ];
  await pause(0);
  assert.deepEqual(names(), ['a', 'b'], 'no more than two side by side');
  await leave('a');
  assert.deepEqual(names(), ['b', 'c']);
  await leave('c');
  await leave('b');
  assert.deepEqual(names(), ['d'], 'the first caller is alone');
  await leave('d');
  await Promise.all(all);
  assert.deepEqual(names(), ['e']);
});

test('a caller has all of its keys or none, and other keys stay free', async () => {
  const { enter, leave, names } = openLock();
  await enter('a', [{ key: 'one' }]);
  const both = enter('b', [{ key: 'two' }, { key: 'one' }]);
  await enter('c', [{ key: 'three' }]);
  const behind = enter('d', [{ key: 'two' }]);
  await pause(0);
  assert.deepEqual(names(), ['a', 'c'], 'd came after b');
  await assert.rejects(enter('e', [{ key: 'two' }], { timeoutMs: 0 }), { message: 'two: b waits' });
  await leave('a');
  await both;
  await leave('b');
  await behind;
});

test('a caller that times out is refused with the holder of its key, and later callers continue', async () => {
  const { enter, leave, names } = openLock();
  await enter('a', shared);
  const late = enter('b', alone, { timeoutMs: 5 });
  const behind = enter('c', shared);
  await assert.rejects(late, { message: 'k: a' });
  await behind;
  await assert.rejects(enter('d', alone, { timeoutMs: 0 }), { message: 'k: a' });
  await leave('a');
  assert.deepEqual(names(), ['c']);
  await leave('c');
  await enter('e', alone, { timeoutMs: 0 });
});

test('a caller that disconnects while it waits leaves its place with the reason', async () => {
  const { enter, leave } = openLock();
  const controller = new AbortController();
  await enter('a', alone);
  const gone = enter('b', alone, { signal: controller.signal });
  const behind = enter('c', alone);
  controller.abort(reason);
  await assert.rejects(gone, reason);
  await leave('a');
  await behind;
});

test('a caller beyond the maximum of waiting ones is refused at once', async () => {
  const { enter, leave } = openLock({ maxWaiting: 2, maxShared: 2 });
  await enter('a', alone);
  const waiting = [enter('b', alone), enter('c', alone)];
  await assert.rejects(enter('d', alone), { message: 'k: a' });
  for (const name of ['a', 'b', 'c']) {
    await leave(name);
  }
  await Promise.all(waiting);
});

test('parties get a key in turn, each in its own order, however many callers one has', async () => {
  const { enter, leave, names } = openLock();
  const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map(name => enter(name, alone, { party: name[0] ?? '' }));
  const order: string[] = [];
  for (const _ of all) {
    await pause(0);
    order.push(...names());
    await Promise.all(names().map(leave));
  }
  assert.deepEqual(order, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

test('a party with the maximum of waiting callers leaves the places of the others free', async () => {
  const { enter, leave } = openLock({ maxWaiting: 2, maxShared: 2 });
  await enter('a', alone, { party: 'a' });
  const waiting = ['b', 'c'].map(name => enter(name, alone, { party: 'a' }));
  await assert.rejects(enter('d', alone, { party: 'a' }), { message: 'k: a' });
  const other = enter('e', alone, { party: 'b' });
  await leave('a');
  await other;
  for (const name of ['e', 'b', 'c']) await leave(name);
  await Promise.all(waiting);
});

test('all callers of several parties get any keys, never concurrently with an exclusive holder', async () => {
  const { lock } = openLock({ maxWaiting: 300, maxShared: 2 });
  const using = new Map<string, readonly KeyUse[]>();
  const work = async (index: number): Promise<void> => {
    const name = `${index}`;
    const keys = ['k', 'l', 'm'].filter((_, bit) => (index >> bit) % 2 === 1);
    const uses = keys.map((key, bit) => ({ key, isShared: (index >> (3 + bit)) % 2 === 1 }));
    const wait = { party: `p${index % 5}`, timeoutMs: 60_000, busy };
    await pause(index % 7);
    using _ = await lock.acquire(uses, name, wait);
    for (const { key, isShared } of uses)
      for (const other of [...using.values()].flat())
        assert.ok(other.key !== key || (isShared && other.isShared), `${name} has ${key} beside another`);
    using.set(name, uses);
    await pause(0);
    using.delete(name);
  };
  await Promise.all(Array.from({ length: 300 }, (_, index) => work(index)));
  assert.deepEqual([...'klm'].flatMap(lock.holders), []);
});

test('the holders of a key and its waiting callers are known, in order', async () => {
  const { enter, leave, lock } = openLock();
  assert.deepEqual(lock.holders('k'), []);
  await enter('a', [{ key: 'k' }, { key: 'other' }]);
  const waiting = enter('b', alone);
  assert.deepEqual([lock.holders('k'), lock.holders('other')], [['a', 'b'], ['a']]);
  await leave('a');
  await waiting;
  assert.deepEqual([lock.holders('k'), lock.holders('other')], [['b'], []]);
});

function near(value: number, expected: number): void {
  assert.ok(Math.abs(value - expected) < 200, `${value}`);
}

test('a caller with a short time waits for half of it, and reserves a second of a longer one for the answer', () => {
  near(patienceUntil(Date.now() + 600, 10_000), 300);
  near(patienceUntil(Date.now() + 5_000, 10_000), 4_000);
  near(patienceUntil(Date.now() + 60_000, 10_000), 10_000);
  assert.ok(patienceUntil(0, 10_000) < 0);
});

test('work for many items runs for at most so many at a time, and begins in order', async () => {
  const begun: number[] = [];
  let [running, most] = [0, 0];
  await forEachAtMost(2, [1, 2, 3, 4, 5], async item => {
    begun.push(item);
    most = Math.max(most, ++running);
    await pause(5);
    running--;
  });
  assert.deepEqual([begun, most, running], [[1, 2, 3, 4, 5], 2, 0]);
  const failing = forEachAtMost(2, [1], () => Promise.reject(reason));
  await assert.rejects(failing, reason);
});
