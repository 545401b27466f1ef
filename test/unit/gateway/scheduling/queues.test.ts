import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bounds } from '../../../../gateway/scheduling/limit.ts';
import { createQueues, type Slot } from '../../../../gateway/scheduling/queues.ts';
import { callerGone, Problem, unavailableProblem } from '../../../../src/api/problem.ts';

const wanted = (): undefined => undefined;

/** Opens the queues of a pool, on a clock that only the test moves. */
function open(bounds: Bounds = { min: 1, max: 8 }) {
  let nowMs = 0;
  const timers: { readonly atMs: number; readonly work: () => void }[] = [];
  const clock = {
    nowMs: () => nowMs,
    later: (work: () => void, ms: number) => timers.push({ atMs: nowMs + ms, work }),
  };
  const queues = createQueues(() => bounds, clock);
  const begun: string[] = [];
  const slots = new Map<string, Slot>();
  /** Requests a slot and records its name once it has one. */
  const ask = (name: string, operation = 'create', unwanted: () => Problem | undefined = wanted) => {
    const request = { pool: 'main', cluster: name.slice(0, 1), operation, resource: `volume/${name}` };
    const keep = (slot: Slot): void => {
      begun.push(name);
      slots.set(name, slot);
    };
    const slot = queues.enter(request);
    return slot ? Promise.resolve(keep(slot)) : queues.wait(request, unwanted).then(keep);
  };
  const end = async (name: string): Promise<void> => {
    slots.get(name)?.[Symbol.dispose]();
    await settled();
  };
  return {
    queues,
    begun,
    ask,
    end,
    /** Runs work in its slot and releases the slot. */
    async finish(name: string, act: () => Promise<unknown> = async () => {}, ms = 0) {
      const work = slots.get(name)?.measure(act);
      nowMs += ms;
      await work?.catch(() => {});
      await end(name);
    },
    async pass(ms: number) {
      nowMs += ms;
      for (const timer of timers.splice(0))
        if (timer.atMs <= nowMs) timer.work();
        else timers.push(timer);
      await settled();
    },
    limit: () => queues.show()[0]?.limit,
  };
}

const settled = (): Promise<void> => new Promise(resolve => void setImmediate(resolve));
const fail = async (): Promise<never> => {
  throw unavailableProblem('busy');
};

test('no cluster has all slots, and the one with the fewest running operations is next', async () => {
  const { ask, begun, end } = open({ min: 4, max: 4 });
  for (let n = 1; n <= 6; n++) void ask(`a${n}`);
  await settled();
  assert.deepEqual(begun, ['a1', 'a2', 'a3']);
  void ask('b1');
  void ask('b2');
  await settled();
  assert.deepEqual(begun.slice(3), ['b1']);
  await end('a1');
  assert.deepEqual(begun.slice(4), ['b2']);
  await end('a2');
  await end('b1');
  assert.deepEqual(begun.slice(5), ['a4', 'a5']);
});

test('within a cluster detaches come before attaches, deletes and creates, and occasionally the oldest operation', async () => {
  const { ask, begun, end } = open({ min: 1, max: 1 });
  void ask('a0');
  const all = ['create', 'delete', 'attach', 'detach'] as const;
  for (const operation of all) for (const n of [1, 2, 3]) void ask(`a-${operation}-${n}`, operation);
  await settled();
  for (let n = 0; n < 12; n++) await end(begun.at(-1) ?? '');
  const operations = begun.slice(1).map(name => name.split('-')[1]);
  assert.equal(
    operations.join(' '),
    'detach detach detach attach attach attach create delete delete delete create create',
  );
});

test('a pool gets more slots while it succeeds, and half as many after a failure', async () => {
  const { ask, begun, finish, limit } = open({ min: 1, max: 64 });
  void ask('a-first');
  assert.equal(limit(), 16);
  for (let n = 0; n < 200; n++) void ask(`a${n}`);
  await settled();
  for (let n = 0; n < 150; n++) await finish(begun[n] ?? '');
  const grown = limit() ?? 0;
  assert.ok(grown > 16, `${grown}`);
  // All running operations fail together, which is one failure.
  const together = begun.slice(150, 156);
  for (const name of together) await finish(name, fail);
  assert.equal(limit(), Math.floor(grown / 2));
});

test('changed bounds apply to the next operations', async () => {
  const bounds = { min: 4, max: 4 };
  const { ask, begun, end, limit } = open(bounds);
  for (let n = 1; n <= 9; n++) void ask(`a${n}`);
  await settled();
  assert.equal(begun.length, 3);
  bounds.min = bounds.max = 8;
  await end('a1');
  assert.deepEqual([begun.length, limit()], [7, 8]);
  bounds.min = bounds.max = 1;
  await end('a2');
  assert.deepEqual([begun.length, limit()], [7, 1]);
});

test("operations that take much longer than usual reduce the pool's slots", async () => {
  const { ask, finish, limit } = open({ min: 1, max: 16 });
  void ask('b-stays');
  for (let n = 0; n < 20; n++) {
    void ask(`a${n}`);
    await settled();
    await finish(`a${n}`, undefined, 10);
  }
  assert.equal(limit(), 16);
  void ask('a-slow');
  await settled();
  await finish('a-slow', undefined, 5_000);
  assert.equal(limit(), 14);
});

test('a pool that keeps failing is left alone for a time, doubling each time, until an operation succeeds', async () => {
  const { ask, begun, finish, pass } = open({ min: 1, max: 1 });
  for (let n = 0; n < 6; n++) void ask(`a${n}`);
  await settled();
  await finish('a0', fail);
  await pass(9);
  assert.deepEqual(begun, ['a0']);
  await pass(1);
  assert.deepEqual(begun, ['a0', 'a1']);
  await finish('a1', fail);
  await pass(19);
  assert.equal(begun.length, 2);
  await pass(1);
  await finish('a2');
  assert.deepEqual(begun.slice(2), ['a2', 'a3']);
});

test('a refusal counts as an answer', async () => {
  const { ask, finish, limit } = open({ min: 1, max: 16 });
  void ask('b-stays');
  void ask('a1');
  await settled();
  await finish('a1', async () => {
    throw new Problem('RESOURCE_EXHAUSTED', 'full');
  });
  assert.equal(limit(), 16);
});

test('a caller at a full queue learns when to come again, and abandoned operations make room', async () => {
  const { ask, begun, queues } = open({ min: 1, max: 1 });
  const gone = { isGone: false };
  const unwanted = (): Problem | undefined => (gone.isGone ? callerGone : undefined);
  void ask('a0');
  const waiting = Array.from({ length: 512 }, (_, n) => ask(`a${n + 1}`, 'create', unwanted));
  const left = Promise.allSettled(waiting);
  await assert.rejects(ask('a-more'), { code: 'UNAVAILABLE', retryAfterS: 1 });
  void ask('b1');
  gone.isGone = true;
  void ask('a-last');
  assert.ok((await left).every(({ status }) => status === 'rejected'));
  const [a, b] = queues.show();
  assert.partialDeepStrictEqual([a, b], [{ cluster: 'a', waiting: 1, running: 1 }, { waiting: 1 }]);
  assert.deepEqual(begun, ['a0']);
});

test('an abandoned operation does not begin when its slot is free, and the next one does', async () => {
  const { ask, begun, end } = open({ min: 1, max: 1 });
  void ask('a1');
  const left = ask('a2', 'create', () => callerGone);
  void ask('a3');
  await settled();
  await Promise.all([assert.rejects(left, { code: 'CANCELLED' }), end('a1')]);
  assert.deepEqual(begun, ['a1', 'a3']);
});
