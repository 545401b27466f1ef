import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withRequest, type CurrentRequest } from '../../../../gateway/operations/request.ts';
import { createTurns, usualMs } from '../../../../gateway/tenancy/turns.ts';
import type { Problem } from '../../../../src/api/problem.ts';
import { isProblem } from '../../../harness/gateway-problems.ts';
import { clusters } from '../../../harness/gateway-harness.ts';

const { a, b } = clusters;

test('callers have their turns one after another, however much one asks for', async () => {
  const turns = createTurns();
  turns.enter(a, { requests: 1, bytes: 0 });
  turns.enter(b, { requests: 1, bytes: 0 });
  const order: string[] = [];
  const take = (caller: typeof a | typeof b, what: string): Promise<unknown> =>
    turns.take(caller, async () => order.push(what));
  await Promise.all([...[1, 2, 3, 4].map(n => take(a, `a${n}`)), ...[1, 2].map(n => take(b, `b${n}`))]);
  assert.deepEqual(order.slice(0, 2), ['a1', 'b1']);
  assert.deepEqual(
    order.filter(what => what.startsWith('a')),
    ['a1', 'a2', 'a3', 'a4'],
  );
});

test('of many requests few begin before that of another caller who comes later', async () => {
  const turns = createTurns();
  for (const caller of [a, a, b]) turns.enter(caller, { requests: 1, bytes: 0 });
  const order: string[] = [];
  const begin = async (caller: typeof a | typeof b, what: string): Promise<void> => {
    await turns.begin(caller, usualMs.change);
    order.push(what);
  };
  await Promise.all([...Array.from({ length: 200 }, () => begin(a, 'a')), begin(b, 'b')]);
  assert.equal(order.length, 201);
  assert.ok(order.indexOf('b') < 40, `${order.indexOf('b')} began before`);
});

test('who has not asked for much begins at once, whoever waits for the end of a rest', async () => {
  const turns = createTurns();
  for (const caller of [a, a, b]) turns.enter(caller, { requests: 1, bytes: 0 });
  await turns.begin(b, usualMs.read);
  // The turn that this came in is over.
  await new Promise(setImmediate);
  const late = new Promise(resolve => void setImmediate(() => resolve('late')));
  const begun = Array.from({ length: 100 }, () => turns.begin(a, usualMs.change));
  assert.equal(await Promise.race([late, turns.begin(b, usualMs.change)]), undefined);
  await Promise.all(begun);
});

test('a request begins though long work of its caller never ends', async () => {
  const turns = createTurns();
  let hasBegun = false;
  const work = turns.work(
    a,
    stepsUntil(() => hasBegun),
  );
  await turns.begin(a, usualMs.read);
  hasBegun = true;
  assert.equal(await work, 'done');
});

test('long work ends with its caller, and a request that waits for its turn does not begin', async () => {
  const turns = createTurns();
  const caller = { isGone: false };
  let steps = 0;
  const endless = function* (): Generator<void> {
    for (; steps < 1_000_000; steps++) {
      caller.isGone = true;
      yield;
    }
  };
  const request: CurrentRequest = {
    requestId: 'one',
    caller: { role: 'controller', cluster: a },
    isGone: () => caller.isGone,
  };
  const begun = withRequest(request, () => [
    turns.work(a, endless()),
    ...Array.from({ length: 200 }, () => turns.begin(a, usualMs.change)),
  ]);
  const ended = await Promise.allSettled(begun);
  assert.ok(steps < 1_000_000);
  const codes = new Set(
    ended.map(one => (one.status === 'rejected' ? (one.reason as Problem).code : 'begun')),
  );
  assert.deepEqual([...codes], ['CANCELLED']);
});

test('work whose deadline has passed does not begin', async () => {
  const turns = createTurns();
  const late: CurrentRequest = {
    requestId: 'one',
    caller: { role: 'controller', cluster: a },
    deadlineMs: Date.now() - 1,
    isGone: () => false,
  };
  const work = withRequest(late, () => turns.take(a, async () => 'begun'));
  await assert.rejects(work, isProblem('DEADLINE_EXCEEDED'));
});

test('between two slices of long work the event loop goes on', async () => {
  const turns = createTurns();
  const seen = { end: false };
  let slices = 0;
  const work = turns
    .work(
      a,
      stepsUntil(() => slices > 3),
    )
    .finally(() => (seen.end = true));
  while (!seen.end) {
    await new Promise(setImmediate);
    slices++;
  }
  assert.equal(await work, 'done');
});

test('a caller that has too much in flight is refused, and no other, until some of it is over', () => {
  const turns = createTurns();
  const one = { requests: 1, bytes: 0 };
  const held = Array.from({ length: 256 }, () => turns.enter(a, one));
  assert.throws(() => turns.enter(a, one), isProblem('UNAVAILABLE'));
  turns.enter(b, one);
  held.pop()?.[Symbol.dispose]();
  turns.enter(a, one);
  assert.throws(() => turns.enter(b, { requests: 0, bytes: 2 ** 24 + 1 }), isProblem('UNAVAILABLE'));
  for (const each of held) each[Symbol.dispose]();
});

test('all callers together are refused what is too much for the machine', () => {
  const turns = createTurns();
  const bytes = 2 ** 24;
  const held = ['c1', 'c2', 'c3', 'c4'].map(name => turns.enter({ ...a, name }, { requests: 0, bytes }));
  assert.throws(() => turns.enter(b, { requests: 0, bytes: 1 }), isProblem('UNAVAILABLE'));
  for (const each of held) each[Symbol.dispose]();
  turns.enter(b, { requests: 0, bytes })[Symbol.dispose]();
});

function* stepsUntil(isOver: () => boolean): Generator<void, string> {
  while (!isOver()) yield;
  return 'done';
}
