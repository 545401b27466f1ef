import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createReadings } from '../../../../node-agent/host/readings.ts';
import { openFakeBench, startAgent } from '../../../harness/node-agent-bench.ts';

test('who waits for another reading of the volume first still has an answer within a second', async () => {
  const bench = openFakeBench();
  const ended = { status: 0, stdout: '', stderr: '', timedOut: false, missing: false };
  const end = Promise.withResolvers<typeof ended>();
  const run = async (command: string) => {
    await sleep(command === 'slow' ? 600 : 0);
    return command === 'slow' ? ended : end.promise;
  };
  const agent = await startAgent({ ...bench, host: { ...bench.host, run } });
  const readings = createReadings(agent);
  const read = (command: string) => readings({ volumeId: 'c.v', operation: 'test', command, args: [] });
  const slow = read('slow');
  // Both are timers of this process, so that the one that ends first is the earlier one, however slow the machine is.
  const late = sleep(1_300, 'late');
  assert.deepEqual(await Promise.race([read('hung'), late]), { hangs: 'test waits on "hung"' });
  assert.deepEqual(await slow, { result: ended });
  end.resolve(ended);
  await late;
});
