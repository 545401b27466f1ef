import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { boundCalls } from '../../../../gateway/local/kernel/bounded-calls.ts';
import { drain } from '../../../../gateway/local/kernel/drain.ts';
import { pause, poll } from '../../../../src/lib/concurrency.ts';

const unavailable = { code: 'UNAVAILABLE' };
/** A time within which every call here ends. */
const longMs = 600_000;

/** Makes calls by name that end on command. */
function openCalls() {
  const begun = new Map<string, PromiseWithResolvers<void>>();
  return {
    begun: (): readonly string[] => [...begun.keys()],
    end: (name: string): void => begun.get(name)?.resolve(),
    call: (name: string) => () => {
      const ending = Promise.withResolvers<void>();
      begun.set(name, ending);
      return ending.promise;
    },
  };
}

test('a bounded number of calls run at once, and the others begin in order of arrival', async () => {
  const { begun, end, call } = openCalls();
  const { run } = boundCalls({ maxCalls: 2, timeoutMs: longMs });
  const names = ['a', 'b', 'c', 'd', 'e'];
  const all = Promise.all(names.map(name => run(name, call(name))));
  for (const [index, name] of names.entries()) {
    const wanted = names.slice(0, index + 2);
    const isBegun = () => begun().length >= wanted.length || undefined;
    assert.ok(await poll(isBegun, { everyMs: 1, timeoutMs: longMs }));
    assert.deepEqual(begun(), wanted);
    end(name);
  }
  await all;
});

test('a call that does not end is UNAVAILABLE and keeps its place until it ends', async () => {
  const { begun, end, call } = openCalls();
  const { run, requireFree } = boundCalls({ maxCalls: 2, timeoutMs: 20 });
  const hung = { ...unavailable, detail: 'the kernel has not finished its work on "/kernel/one"' };
  await assert.rejects(run('/kernel/one', call('/kernel/one')), hung);
  await run('/kernel/two', async () => {});
  await assert.rejects(run('/kernel/three', call('/kernel/three')), unavailable);
  const both = { ...unavailable, detail: /"\/kernel\/one", "\/kernel\/three"$/ };
  await assert.rejects(run('/kernel/four', call('/kernel/four')), both);
  assert.ok(!begun().includes('/kernel/four'), 'there is no place for it');
  for (const path of ['/kernel', '/kernel/one']) assert.throws(() => requireFree(path), unavailable);
  requireFree('/kernel/on');
  end('/kernel/one');
  await setImmediate();
  requireFree('/kernel/one');
  await run('/kernel/five', async () => {});
});

test('a waiting call is not late as long as calls before it end', async () => {
  const { run } = boundCalls({ maxCalls: 1, timeoutMs: 1_000 });
  await Promise.all(Array.from({ length: 15 }, (_, index) => run(`/kernel/${index}`, () => pause(100))));
});

test('a waiting call is UNAVAILABLE once nothing before it ends', async () => {
  const { begun, call } = openCalls();
  const { run } = boundCalls({ maxCalls: 1, timeoutMs: 20 });
  const outcomes = await Promise.allSettled(['one', 'two', 'three'].map(name => run(name, call(name))));
  for (const outcome of outcomes)
    assert.equal(outcome.status === 'rejected' && outcome.reason.code, 'UNAVAILABLE');
  assert.deepEqual(begun(), ['one']);
});

test('a failed call releases its place, and its error goes to the caller', async () => {
  const { run, requireFree } = boundCalls({ maxCalls: 1, timeoutMs: longMs });
  const busy = Object.assign(new Error('busy'), { code: 'EBUSY' });
  for (let count = 0; count < 2; count++)
    await assert.rejects(
      run('/kernel/one', () => Promise.reject(busy)),
      busy,
    );
  requireFree('/kernel/one');
});

test('a paused node is cut off, and then the path to its data is closed', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done: string[] = [];
  const cut = async (): Promise<void> => {
    done.push('cut');
    resolve();
  };
  await drain({ what: 'I/O', work: () => promise.then(() => void done.push('closed')), cut });
  assert.deepEqual(done, ['cut', 'closed']);
});

test('a node whose call runs late learns of it before its connection is cut, like any running one', async () => {
  const drains = boundCalls({ maxCalls: 1, timeoutMs: longMs });
  const { promise, resolve } = Promise.withResolvers<void>();
  const done: string[] = [];
  const note = (event: string) => async (): Promise<void> => void done.push(event);
  const still = { what: 'one', work: () => promise, cut: async () => resolve() };
  const living = { what: 'two', work: note('closed'), cut: note('cut') };
  await Promise.all([drain(still, drains), drain(living, drains)]);
  assert.deepEqual(done, ['closed', 'cut']);
});

test('closing over a hanging disk is UNAVAILABLE, whether it or the cut does not end', async () => {
  const tree = boundCalls({ maxCalls: 3, timeoutMs: 20 });
  const drains = boundCalls({ maxCalls: 2, timeoutMs: 20 });
  const { call } = openCalls();
  const closing = { what: 'I/O of target one', work: call('work'), cut: async () => {} };
  await assert.rejects(drain(closing, drains), { ...unavailable, detail: /"I\/O of target one"$/ });
  const cut = () => tree.run('/kernel/enable', call('cut'));
  await assert.rejects(drain({ ...closing, work: async () => {}, cut }, drains), {
    ...unavailable,
    detail: /"\/kernel\/enable"$/,
  });
});
