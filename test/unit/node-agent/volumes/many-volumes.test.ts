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
  openNode,
  putUp,
  requestFor,
  serviceOf,
  startAgent,
  takeDown,
  withCommands,
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

test('each step in the life of a volume takes as many commands and reads beside thirty others as beside one, except one read of each device for the stage and the unstage', async () => {
  const [crowded, alone] = [await countBeside(30, filesystem), await countBeside(1, filesystem)];
  const beside30 = ({ readText = 0, ...rest }: typeof alone.stage) => ({ ...rest, readText: readText + 29 });
  const expected = { ...alone, stage: beside30(alone.stage), unstage: beside30(alone.unstage) };
  assert.deepEqual(crowded, expected);
});

test('publish, unpublish and statistics of a block volume take as many commands and reads beside thirty others as beside one', async () => {
  const [crowded, alone] = [await countBeside(30, block), await countBeside(1, block)];
  for (const step of ['publish', 'statistics', 'unpublish'] as const)
    assert.deepEqual(crowded[step], alone[step]);
});

test('statistics look for a freeze only once in each pause without writes', async () => {
  const { agent, request } = await openNode(openFakeBench(), { image: { content: 'ext4' } });
  await putUp(agent, request);
  const commands: string[] = [];
  const { host, ...rest } = withCommands(agent, command => void commands.push(command));
  let writes = 1;
  const readText: Host['readText'] = async path =>
    path === '/sys/dev/block/7:0/stat' ? `   9   0  72  3   ${writes}  0  8  1\n` : host.readText(path);
  const isLookedFor = async () => {
    commands.length = 0;
    await measure({ ...rest, host: { ...host, readText } }, { volumeId: 'c.v', path: request.targetPath });
    return commands.includes('dumpe2fs');
  };
  assert.deepEqual([await isLookedFor(), await isLookedFor()], [true, false]);
  writes++;
  assert.deepEqual([await isLookedFor(), await isLookedFor(), await isLookedFor()], [false, true, false]);
  agent.cache.frozen.add('c.v');
  assert.deepEqual([await isLookedFor(), agent.cache.frozen.size], [true, 0]);
  await takeDown(agent, request);
});

test('statistics read the mounts once a second, and also find later publications', async t => {
  let nowMs = 1_000_000;
  t.mock.method(performance, 'now', () => nowMs);
  const capability = { accessMode: 'SINGLE_NODE_MULTI_WRITER', fsType: 'ext4' } as const;
  const { agent, request } = await openNode(openFakeBench(), { capability });
  let reads = 0;
  const mounts: Host['mounts'] = () => {
    reads++;
    return agent.host.mounts();
  };
  const { ask } = serviceOf({ ...agent, host: { ...agent.host, mounts } }, request);
  for (const rpc of ['NodeStageVolume', 'NodePublishVolume'] as const) await ask(rpc);
  const countReads = async (changed: object = {}) => {
    reads = 0;
    await ask('NodeGetVolumeStats', changed);
    return reads;
  };
  assert.deepEqual([await countReads(), await countReads()], [1, 0]);
  const second = { target_path: `${request.targetPath}-2`, volume_path: `${request.targetPath}-2` };
  await ask('NodePublishVolume', second);
  assert.ok((await countReads(second)) > 0);
  nowMs += 1_001;
  assert.equal(await countReads(), 1);
  for (const changed of [second, {}]) await ask('NodeUnpublishVolume', changed);
  await assert.rejects(ask('NodeGetVolumeStats'), { code: 'NOT_FOUND' });
  await ask('NodeUnstageVolume');
});
