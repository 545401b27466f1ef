import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createReadings } from '../../../../node-agent/host/readings.ts';
import { openFakeBench, startAgent } from '../../../harness/node-agent-bench.ts';

test('who waits for another reading of the volume first still has an answer within a second', async t => {
  const bench = openFakeBench();
  const ended = { status: 0, stdout: '', stderr: '', timedOut: false };
  const [slow, hung] = [Promise.withResolvers<typeof ended>(), Promise.withResolvers<typeof ended>()];
  const run = (command: string) => (command === 'slow' ? slow : hung).promise;
  const readings = createReadings(await startAgent({ ...bench, host: { ...bench.host, run } }));
  const read = (command: string) => readings({ volumeId: 'c.v', operation: 'test', command, args: [] });
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
