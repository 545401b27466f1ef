import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { startTrimming } from '../../../node-agent/format/trim.ts';
import { createVolumeLock } from '../../../node-agent/volumes/volume-lock.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { openFakeBench, openNode, putUp } from '../../harness/node.ts';

const [minuteMs, dayMs] = [60_000, 24 * 60 * 60_000];
/** A Thursday, the first day of the week of turns. */
const startMs = Date.UTC(2026, 0, 1);

/** Opens a node with mounted volumes by name, each with its trimming and its turn. Lists the volumes that are trimmed. */
async function openTrimmed(t: TestContext, volumes: Readonly<Record<string, readonly [string, number?]>>) {
  const bench = openFakeBench();
  const { agent, request } = await openNode(bench);
  for (const [name, [trimming, trimTurn]] of Object.entries(volumes)) {
    const attachment = { ...request.attachment, path: bench.makeImage(name), attachmentId: name, trimTurn };
    const paths = {
      stagingPath: `${bench.directory}/stage/${name}`,
      targetPath: `${bench.directory}/pods/${name}`,
    };
    const formatOptions = { 'fs.trim': trimming };
    await putUp(agent, { ...request, ...paths, volumeId: `c.${name}`, attachment, formatOptions });
  }
  const trimmed: (string | undefined)[] = [];
  const limits: (string | undefined)[] = [];
  const run: typeof bench.host.run = async (command, args, options) => {
    if (command !== 'timeout') return bench.host.run(command, args, options);
    trimmed.push(args.at(-1)?.split('/').at(-1));
    limits.push(args[2]);
    return bench.host.run('true', [], options);
  };
  const own = { ...agent, host: { ...agent.host, run } };
  t.mock.timers.enable({ apis: ['Date'], now: startMs - minuteMs });
  const trimming = startTrimming(own, createVolumeLock(own), 2);
  t.after(() => trimming[Symbol.dispose]());
  /** Moves the clock to this time after the start, and returns the volumes that are trimmed until `count` are. */
  const trimmedAt = async (afterMs: number, count: number): Promise<readonly unknown[]> => {
    trimmed.length = 0;
    t.mock.timers.setTime(startMs + afterMs);
    await poll(() => trimmed.length >= count || undefined, { everyMs: 2, timeoutMs: 10_000 });
    for (let round = 0; round < 100; round++) await setImmediate();
    return trimmed.toSorted();
  };
  return { trimmedAt, limits };
}

test('an agent trims each volume in the windows of its turn alone, once in each', async t => {
  const { trimmedAt, limits } = await openTrimmed(t, {
    a: ['daily', 0],
    b: ['daily', 1],
    c: ['weekly', 0],
    d: ['weekly', 360],
    e: ['daily', 360],
  });
  assert.deepEqual(await trimmedAt(0, 2), ['a', 'c']);
  assert.deepEqual(limits, ['100', '100'], 'the seconds after which trims are killed');
  assert.deepEqual(await trimmedAt(2 * minuteMs, 2), ['d', 'e']);
  assert.deepEqual(await trimmedAt(4 * minuteMs, 1), ['b']);
  assert.deepEqual(await trimmedAt(dayMs, 1), ['a']);
  assert.deepEqual(await trimmedAt(7 * dayMs, 2), ['a', 'c']);
});

test('an agent trims no volume without a turn, and none whose trimming is off', async t => {
  const { trimmedAt } = await openTrimmed(t, { a: ['daily'], b: ['off', 0], c: ['daily', 0], d: ['weekly'] });
  assert.deepEqual(await trimmedAt(0, 1), ['c']);
});

test('an agent does not trim in the window in which it starts', async t => {
  const { trimmedAt } = await openTrimmed(t, { a: ['daily', 359 + 7 * 360], b: ['daily', 0] });
  assert.deepEqual(await trimmedAt(-minuteMs, 0), []);
  assert.deepEqual(await trimmedAt(0, 1), ['b']);
  assert.deepEqual(await trimmedAt(7 * dayMs - minuteMs, 1), ['a']);
});

test('a trim that could not end before the next window does not begin', async t => {
  const { trimmedAt } = await openTrimmed(t, { a: ['daily', 0], b: ['daily', 1] });
  assert.deepEqual(await trimmedAt(2 * minuteMs - 20_000, 0), []);
  assert.deepEqual(await trimmedAt(4 * minuteMs + 99_000, 1), ['b']);
});
