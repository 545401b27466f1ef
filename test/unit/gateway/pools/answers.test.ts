import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Backend } from '../../../../gateway/backend.ts';
import { createAnswers } from '../../../../gateway/pools/state/answers.ts';
import { probePool } from '../../../../gateway/pools/state/probe.ts';
import { withRequest } from '../../../../gateway/scheduling/current-request.ts';
import { Problem, unavailableProblem, withOutage } from '../../../../src/api/problem.ts';
import { openMemory } from '../../../harness/gateway.ts';

/** Makes a watched backend whose `delete` and `capacity` end as the test says, at the time that the test says. */
async function openWatched() {
  const clock = { nowMs: 1_000_000 };
  const answers = createAnswers(() => clock.nowMs);
  const inner = await openMemory();
  const next: { error?: Error; sizes?: () => Promise<{ totalBytes: number }> } = {};
  const backend: Backend = answers.watch({
    ...inner,
    delete: async () => {
      if (next.error) throw next.error;
    },
    capacity: () => next.sizes?.() ?? Promise.resolve({ totalBytes: 8 }),
  });
  const remove = (error?: Error): Promise<void> => {
    if (error) next.error = error;
    else delete next.error;
    return backend.delete({ id: 'a.one' }).catch(() => undefined);
  };
  return { answers, backend, clock, next, remove };
}

const down = withOutage(unavailableProblem('no route'), 'errors');

test('a failed call is kept with its time, method, words and request', async () => {
  const { answers, remove } = await openWatched();
  assert.deepEqual(answers.show(), {
    answers: true,
    outage: undefined,
    failingSinceMs: undefined,
    calls: 0,
    failedCalls: 0,
    lastFailure: undefined,
    recentFailures: [],
    oldestCall: undefined,
  });
  const request = { requestId: 'r1', caller: { role: 'operator' }, isGone: () => false } as const;
  await withRequest(request, () => remove(down));
  const failure = {
    atMs: 1_000_000,
    method: 'delete',
    code: 'UNAVAILABLE',
    detail: 'no route',
    requestId: 'r1',
  };
  assert.deepEqual(answers.show(), {
    answers: false,
    outage: 'errors',
    failingSinceMs: 1_000_000,
    calls: 1,
    failedCalls: 1,
    lastFailure: failure,
    recentFailures: [failure],
    oldestCall: undefined,
  });
  await remove();
  assert.partialDeepStrictEqual(answers.show(), { outage: undefined, calls: 2, failedCalls: 1 });
});

test('calls are counted for 5 minutes, and the last failure stays', async () => {
  const { answers, clock, remove } = await openWatched();
  await remove(down);
  clock.nowMs += 290_000;
  await remove();
  assert.partialDeepStrictEqual(answers.show(), { calls: 2, failedCalls: 1 });
  clock.nowMs += 20_000;
  assert.partialDeepStrictEqual(answers.show(), { calls: 1, failedCalls: 0 });
  assert.equal(answers.show().lastFailure?.detail, 'no route');
});

test('a storage fails since its first failed call, and in the way of the last one, until it answers', async () => {
  const { answers, clock, remove } = await openWatched();
  await remove(withOutage(unavailableProblem('no answer'), 'silent'));
  clock.nowMs += 5_000;
  await remove(withOutage(unavailableProblem('a page'), 'foreign'));
  assert.partialDeepStrictEqual(answers.show(), { outage: 'foreign', failingSinceMs: 1_000_000 });
  await remove();
  assert.partialDeepStrictEqual(answers.show(), { outage: undefined, failingSinceMs: undefined });
});

test('a long call that fails does not hide the answers that came meanwhile', async () => {
  const clock = { nowMs: 1 };
  const answers = createAnswers(() => clock.nowMs);
  const hanging = Promise.withResolvers<never>();
  const backend = answers.watch({ ...(await openMemory()), delete: () => hanging.promise });
  const deleted = backend.delete({ id: 'a.one' });
  clock.nowMs = 600_000;
  await backend.detach({ id: 'a.one' }, 'n1');
  hanging.reject(down);
  await assert.rejects(deleted);
  assert.equal(answers.show().failingSinceMs, 600_000);
});

test('a refusal is an answer, and a full storage an answer that is kept', async () => {
  const { answers, remove } = await openWatched();
  await remove(new Problem('FAILED_PRECONDITION', 'in use'));
  assert.partialDeepStrictEqual(answers.show(), {
    outage: undefined,
    failedCalls: 0,
    lastFailure: undefined,
  });
  await remove(new Problem('RESOURCE_EXHAUSTED', 'no space'));
  assert.partialDeepStrictEqual(answers.show(), { outage: undefined, failedCalls: 0 });
  assert.equal(answers.show().lastFailure?.code, 'RESOURCE_EXHAUSTED');
});

test('a failed question about the size hides no failure of work in the last 5 minutes', async () => {
  const { answers, backend, clock, next, remove } = await openWatched();
  await remove(down);
  clock.nowMs += 1_000;
  next.sizes = () => Promise.reject(unavailableProblem('no size'));
  assert.deepEqual(await probePool({ name: 'fast', backend, answers }), {
    answers: false,
    fault: 'no size',
  });
  assert.partialDeepStrictEqual(answers.show(), { answers: false, outage: undefined, calls: 1 });
  assert.equal(answers.show().lastFailure?.detail, 'no route');
  clock.nowMs += 300_000;
  assert.equal(answers.show().lastFailure?.detail, 'no size');
});

test('a storage that hangs gets one question at a time, and is said not to answer', async () => {
  const { answers, backend, next } = await openWatched();
  let asked = 0;
  const hanging = Promise.withResolvers<{ totalBytes: number }>();
  next.sizes = () => {
    asked++;
    return hanging.promise;
  };
  const probe = () => probePool({ name: 'fast', backend, answers });
  const silent = { answers: false, outage: 'silent', fault: 'no answer within 2 s' } as const;
  assert.deepEqual(await Promise.all([probe(), probe()]), [silent, silent]);
  assert.equal(asked, 1);
  assert.equal(answers.show().failingSinceMs, 1_000_000);
  hanging.resolve({ totalBytes: 8 });
  await hanging.promise;
  assert.deepEqual(await probe(), { answers: true, totalBytes: 8 });
});

test('the call that has been running for the longest time is shown', async () => {
  const clock = { nowMs: 1 };
  const answers = createAnswers(() => clock.nowMs);
  const hanging = Promise.withResolvers<never>();
  const inner = await openMemory();
  const backend = answers.watch({ ...inner, delete: () => hanging.promise });
  const deleted = backend.delete({ id: 'a.one' });
  clock.nowMs = 9;
  await backend.detach({ id: 'a.one' }, 'n1');
  assert.deepEqual(answers.show().oldestCall, { method: 'delete', sinceMs: 1 });
  hanging.reject(down);
  await assert.rejects(deleted);
  assert.equal(answers.show().oldestCall, undefined);
});

test('a storage that reports no size is asked whether it answers', async () => {
  const answers = createAnswers();
  const { capacity: _, ...inner } = await openMemory();
  let isDown = false;
  const reach = async (): Promise<void> => {
    if (isDown) throw down;
  };
  const backend = answers.watch({ ...inner, reach });
  const probe = () => probePool({ name: 'fast', backend, answers });
  assert.deepEqual(await probe(), { answers: true });
  isDown = true;
  assert.deepEqual(await probe(), { answers: false, outage: 'errors', fault: 'no route' });
  assert.partialDeepStrictEqual(answers.show(), { calls: 0, lastFailure: { method: 'reach' } });
  isDown = false;
  assert.deepEqual(await probe(), { answers: true });
});
