import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createReadings, soonMs } from '../../../../node-agent/host/readings.ts';
import { measure } from '../../../../node-agent/volumes/size.ts';
import { openFakeBench, openNode, putUp, startAgent } from '../../../harness/node.ts';

const ended = { status: 0, stdout: '', stderr: '', timedOut: false };

test('a caller that waits for another reading of the volume first gets an answer within a second', async t => {
  const bench = openFakeBench();
  const [slow, hung] = [Promise.withResolvers<typeof ended>(), Promise.withResolvers<typeof ended>()];
  const run = (command: string) => (command === 'slow' ? slow : hung).promise;
  const readings = createReadings(await startAgent({ ...bench, host: { ...bench.host, run } }));
  const rest = { volumeId: 'c.v', operation: 'test', args: [], answerMs: soonMs };
  const read = (command: string) => readings({ ...rest, command });
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const pass = async (ms: number): Promise<void> => {
    nowMs += ms;
    t.mock.timers.tick(ms);
    await setImmediate();
  };
  const answers = [read('slow'), read('hung')];
  await pass(600);
  slow.resolve(ended);
  await setImmediate();
  await pass(399);
  assert.deepEqual(await answers[1], {
    fault: 'Hung',
    message: 'volume "c.v" hangs: test waits on "hung"',
  });
  assert.deepEqual(await answers[0], { stdout: '' });
  hung.resolve(ended);
});

test('a volume without an earlier answer is measured by a slow command; one with an earlier answer answers in time', async t => {
  const { agent, request } = await openNode(openFakeBench(), { image: { content: 'ext4' } });
  await putUp(agent, request);
  let slow = Promise.withResolvers<typeof ended>();
  const { volumeId, targetPath: path } = request;
  const busy = { ...agent, host: { ...agent.host, run: () => slow.promise } };
  const readings = createReadings(busy);
  const ask = () => measure(busy, readings, { volumeId, path });
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const first = ask();
  await setImmediate();
  t.mock.timers.tick(4_000);
  slow.resolve({ ...ended, stdout: '1024 400 240 200 20 9' });
  const usage = await first;
  assert.equal(usage.bytes.total, 409_600);
  slow = Promise.withResolvers<typeof ended>();
  const second = ask();
  await setImmediate();
  t.mock.timers.tick(soonMs);
  assert.equal(await second, usage);
  slow.resolve(ended);
});

test('three concurrent readers of different kinds wait for each other, and none is told that the volume hangs', async () => {
  const bench = openFakeBench();
  let running = 0;
  const run = async (command: string) => {
    assert.equal(running++, 0);
    await setImmediate();
    running--;
    return { ...ended, stdout: command };
  };
  const readings = createReadings(await startAgent({ ...bench, host: { ...bench.host, run } }));
  const commands = ['one', 'two', 'three'];
  const answers = await Promise.all(
    commands.map(command => readings({ volumeId: 'c.v', operation: 'test', command, args: [] })),
  );
  assert.deepEqual(
    answers,
    commands.map(stdout => ({ stdout })),
  );
});
