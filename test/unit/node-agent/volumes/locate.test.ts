import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expand } from '../../../../node-agent/volumes/expand.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { measure, openFakeBench, requestFor, startAgent } from '../../../harness/node-agent-bench.ts';

/** A staged block volume. */
async function openStaged() {
  const bench = openFakeBench();
  const request = requestFor(bench, bench.makeImage('image'));
  const capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;
  const agent = await startAgent(bench);
  await stage(agent, { ...request, capability });
  return { bench, request, agent, at: { volumeId: request.volumeId, path: request.stagingPath } };
}

test('to measure a block volume while it is unstaged does not connect it again', async () => {
  const { bench, request, agent, at } = await openStaged();
  const asked: Promise<unknown>[] = [];
  const remove = async (volumeId: string): Promise<void> => {
    // The device is gone by now, and the record is not.
    asked.push(measure(agent, at));
    await Promise.allSettled(asked);
    await agent.records.remove(volumeId);
  };
  await unstage({ ...agent, records: { ...agent.records, remove } }, request);
  await Promise.all(asked.map(one => assert.rejects(one, { code: 'UNAVAILABLE' })));
  assert.equal(asked.length, 1);
  assert.deepEqual([...bench.host.state.loops], []);
});

test('a block volume is measured and grown at its staging path, and grown after the agent started anew', async () => {
  const { bench, agent, at } = await openStaged();
  const { total } = (await measure(agent, at)).bytes;
  assert.ok(total > 0);
  const restarted = await startAgent(bench);
  await assert.rejects(measure(restarted, at), { code: 'UNAVAILABLE' });
  assert.equal(await expand(restarted, { ...at, requiredBytes: 0, limitBytes: 0 }), total);
});
