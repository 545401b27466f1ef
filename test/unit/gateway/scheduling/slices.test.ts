import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withRequest, type CurrentRequest } from '../../../../gateway/scheduling/current-request.ts';
import { createSlices, requestCostMs } from '../../../../gateway/scheduling/slices.ts';
import type { Problem } from '../../../../src/api/problem.ts';
import { clusters } from '../../../harness/gateway.ts';

const { a, b } = clusters;

test('callers get their time slices in turn, however much one of them requests', async () => {
  const slices = createSlices();
  slices.enter(a, { requests: 1, bytes: 0 });
  slices.enter(b, { requests: 1, bytes: 0 });
  const order: string[] = [];
  const take = (caller: typeof a | typeof b, what: string): Promise<unknown> =>
    slices.take(caller, async () => order.push(what));
  await Promise.all([...[1, 2, 3, 4].map(n => take(a, `a${n}`)), ...[1, 2].map(n => take(b, `b${n}`))]);
  assert.deepEqual(order.slice(0, 2), ['a1', 'b1']);
  assert.deepEqual(
    order.filter(what => what.startsWith('a')),
    ['a1', 'a2', 'a3', 'a4'],
  );
});

test('a later request of another caller is overtaken by few of many requests', async () => {
  const slices = createSlices();
  for (const caller of [a, a, b]) slices.enter(caller, { requests: 1, bytes: 0 });
  const order: string[] = [];
  const begin = async (caller: typeof a | typeof b, what: string): Promise<void> => {
    await slices.begin(caller, requestCostMs.change);
    order.push(what);
  };
  await Promise.all([...Array.from({ length: 200 }, () => begin(a, 'a')), begin(b, 'b')]);
  assert.equal(order.length, 201);
  assert.ok(order.indexOf('b') < 40, `${order.indexOf('b')} began before`);
});

test('a caller with few requests begins at once, even if another waits for the end of a pause', async () => {
  const slices = createSlices();
  for (const caller of [a, a, b]) slices.enter(caller, { requests: 1, bytes: 0 });
  await slices.begin(b, requestCostMs.read);
  // The time slice of this request is over.
  await new Promise(setImmediate);
  const late = new Promise(resolve => void setImmediate(() => resolve('late')));
  const begun = Array.from({ length: 100 }, () => slices.begin(a, requestCostMs.change));
  assert.equal(await Promise.race([late, slices.begin(b, requestCostMs.change)]), undefined);
  await Promise.all(begun);
});

test("a request begins even if its caller's long work never ends", async () => {
  const slices = createSlices();
  let hasBegun = false;
  const work = slices.work(
    a,
    stepsUntil(() => hasBegun),
  );
  await slices.begin(a, requestCostMs.read);
  hasBegun = true;
  assert.equal(await work, 'done');
});

test('long work ends with its caller, and a waiting request does not begin', async () => {
  const slices = createSlices();
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
    slices.work(a, endless()),
    ...Array.from({ length: 200 }, () => slices.begin(a, requestCostMs.change)),
  ]);
  const ended = await Promise.allSettled(begun);
  assert.ok(steps < 1_000_000);
  const codes = new Set(
    ended.map(one => (one.status === 'rejected' ? (one.reason as Problem).code : 'begun')),
  );
  assert.deepEqual([...codes], ['CANCELLED']);
});

test('work whose deadline has passed does not begin', async () => {
  const slices = createSlices();
  const late: CurrentRequest = {
    requestId: 'one',
    caller: { role: 'controller', cluster: a },
    deadlineMs: Date.now() - 1,
    isGone: () => false,
  };
  const work = withRequest(late, () => slices.take(a, async () => 'begun'));
  await assert.rejects(work, { code: 'DEADLINE_EXCEEDED' });
});

test('the event loop continues between two time slices of long work', async () => {
  const slices = createSlices();
  const seen = { end: false };
  let count = 0;
  const work = slices
    .work(
      a,
      stepsUntil(() => count > 3),
    )
    .finally(() => (seen.end = true));
  while (!seen.end) {
    await new Promise(setImmediate);
    count++;
  }
  assert.equal(await work, 'done');
});

test('only a caller with too much in flight is refused, until some of it is over', () => {
  const slices = createSlices();
  const one = { requests: 1, bytes: 0 };
  const held = Array.from({ length: 256 }, () => slices.enter(a, one));
  assert.throws(() => slices.enter(a, one), { code: 'UNAVAILABLE' });
  slices.enter(b, one);
  held.pop()?.[Symbol.dispose]();
  slices.enter(a, one);
  assert.throws(() => slices.enter(b, { requests: 0, bytes: 2 ** 24 + 1 }), { code: 'UNAVAILABLE' });
  for (const each of held) each[Symbol.dispose]();
});

test("all callers together are refused work beyond the machine's limit", () => {
  const slices = createSlices();
  const bytes = 2 ** 24;
  const held = ['c1', 'c2', 'c3', 'c4'].map(name => slices.enter({ ...a, name }, { requests: 0, bytes }));
  assert.throws(() => slices.enter(b, { requests: 0, bytes: 1 }), { code: 'UNAVAILABLE' });
  for (const each of held) each[Symbol.dispose]();
  slices.enter(b, { requests: 0, bytes })[Symbol.dispose]();
});

function* stepsUntil(isOver: () => boolean): Generator<void, string> {
  while (!isOver()) yield;
  return 'done';
}
