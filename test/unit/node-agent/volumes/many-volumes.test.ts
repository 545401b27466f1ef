import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Capability } from '../../../../src/api/storage.ts';
import type { Host } from '../../../../node-agent/host.ts';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import {
  block,
  measure,
  openFakeBench,
  putUp,
  requestFor,
  startAgent,
  takeDown,
} from '../../../harness/node.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';

/** Wraps a host that counts its calls, without those that read the mounts. */
function observe(host: Host) {
  const counts: Record<string, number> = {};
  const counted = new Proxy(host, {
    get(all, name: keyof Host) {
      if (name !== 'mounts') counts[name] = (counts[name] ?? 0) + 1;
      return all[name];
    },
  });
  return { counts, host: counted };
}

/** Counts the calls of each step in the life of a volume, beside other volumes that are staged and published. */
async function countBeside(others: number, capability: Capability) {
  const bench = openFakeBench();
  const agent = await startAgent(bench);
  const request = (name: string) => {
    const made = requestFor(bench, bench.makeImage(name, { content: 'ext4' }));
    return {
      ...made,
      capability,
      volumeId: `c.${name}`,
      stagingPath: `${bench.directory}/stage/${name}`,
      targetPath: `${bench.directory}/pods/${name}`,
    };
  };
  const staged = Array.from({ length: others }, (_, index) => request(`other-${index}`));
  for (const other of staged) await putUp(agent, other);
  const own = request('own');
  const count = async (work: (observed: Agent) => Promise<unknown>) => {
    const { counts, host } = observe(bench.host);
    await work({ ...agent, host });
    return counts;
  };
  const counts = {
    stage: await count(observed => stage(observed, own)),
    publish: await count(observed => publish(observed, own)),
    statistics: await count(observed => measure(observed, { volumeId: own.volumeId, path: own.targetPath })),
    unpublish: await count(observed => unpublish(observed, own)),
    unstage: await count(observed => unstage(observed, own)),
  };
  for (const other of staged) await takeDown(agent, other);
  return counts;
}

const filesystem = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' } as const;

test('each step in the life of a volume takes as many commands and reads beside thirty others as beside one, except one read of each device for the unstage', async () => {
  const [crowded, alone] = [await countBeside(30, filesystem), await countBeside(1, filesystem)];
  const { readText = 0, ...rest } = alone.unstage;
  assert.deepEqual(crowded, { ...alone, unstage: { ...rest, readText: readText + 29 } });
});

test('publish, unpublish and statistics of a block volume take as many commands and reads beside thirty others as beside one', async () => {
  const [crowded, alone] = [await countBeside(30, block), await countBeside(1, block)];
  for (const step of ['publish', 'statistics', 'unpublish'] as const)
    assert.deepEqual(crowded[step], alone[step]);
});
