import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expand } from '../../../../node-agent/volumes/size.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import {
  block,
  defaultImageBytes,
  measure,
  MiB,
  openFakeBench,
  openRealBench,
  openNode,
  putUp,
  real,
  startAgent,
  takeDown,
  type Bench,
  type VolumeChange,
} from '../../../harness/node.ts';

const grownBytes = defaultImageBytes + 100 * MiB;
const all = { requiredBytes: 0, limitBytes: 0 };
const grown = { requiredBytes: grownBytes, limitBytes: 0 };

async function openPublished<B extends Bench>(bench: B, change: VolumeChange = {}) {
  const { agent, request } = await openNode(bench, change);
  await putUp(agent, request);
  const { attachment, volumeId, targetPath } = request;
  return {
    agent,
    request,
    at: { volumeId, path: targetPath },
    resize: (sizeBytes: number) => bench.resizeImage(attachment.path, sizeBytes),
    end: () => takeDown(agent, request),
  };
}

test(
  'a small btrfs that cannot grow a little is staged, and grows once it can',
  real('mkfs.btrfs'),
  async t => {
    const sizeBytes = 128 * MiB;
    const { agent, at, resize, end } = await openPublished(openRealBench(t), {
      image: { content: 'btrfs', sizeBytes },
      attachment: { sizeBytes },
      capability: { fsType: 'btrfs' },
    });
    resize(200 * MiB);
    await assert.rejects(expand(agent, { ...at, requiredBytes: 200 * MiB, limitBytes: 0 }), {
      code: 'FAILED_PRECONDITION',
      detail: /cannot grow to less than 268435456 bytes/,
    });
    resize(grownBytes);
    assert.equal(await expand(agent, { ...at, ...grown }), grownBytes);
    await end();
  },
);

test('a block volume is measured and grown at its staging path, and grown after the agent restarted', async () => {
  const { agent, bench, request } = await openNode(openFakeBench(), { capability: block });
  await stage(agent, request);
  const staged = { volumeId: request.volumeId, path: request.stagingPath };
  assert.equal((await measure(agent, staged)).bytes.total, defaultImageBytes);
  const restarted = await startAgent(bench);
  await assert.rejects(measure(restarted, staged), { code: 'UNAVAILABLE' });
  assert.equal(await expand(restarted, { ...staged, ...all }), defaultImageBytes);
});

test('measuring an unstaged block volume does not connect it again', async () => {
  const { agent, bench, request } = await openNode(openFakeBench(), { capability: block });
  await stage(agent, request);
  const asked: Promise<unknown>[] = [];
  const remove = async (volumeId: string): Promise<void> => {
    // The device is gone by now, and the record is not.
    asked.push(measure(agent, { volumeId, path: request.stagingPath }));
    await Promise.allSettled(asked);
    await agent.records.remove(volumeId);
  };
  await unstage({ ...agent, records: { ...agent.records, remove } }, request);
  await assert.rejects(asked[0] ?? assert.fail(), { code: 'UNAVAILABLE' });
  assert.deepEqual([...bench.host.state.loops], []);
});

const refusals = [
  {
    what: 'that has not grown yet is UNAVAILABLE',
    asked: grown,
    code: 'UNAVAILABLE',
    detail: `the device of volume "c.v" has ${defaultImageBytes} bytes and not yet the required ${grownBytes}; try again once the storage has grown it`,
  },
  {
    what: 'above the limit is OUT_OF_RANGE, since nothing shrinks',
    asked: { requiredBytes: 1, limitBytes: MiB },
    code: 'OUT_OF_RANGE',
    detail: /does not shrink/,
  },
];
for (const { what, asked, ...error } of refusals)
  test(`a device ${what}`, async () => {
    const { agent, at } = await openPublished(openFakeBench());
    await assert.rejects(expand(agent, { ...at, ...asked }), error);
  });

test('a size that is reached already succeeds without another look at the device', async () => {
  const { agent, at, resize } = await openPublished(openFakeBench(), { capability: { fsType: 'xfs' } });
  resize(grownBytes);
  assert.equal(await expand(agent, { ...at, requiredBytes: MiB, limitBytes: 0 }), defaultImageBytes);
});

test('a read-only mount is not grown, and the error says so', async () => {
  const { agent, at, resize } = await openPublished(openFakeBench(), { capability: { mountFlags: ['ro'] } });
  resize(grownBytes);
  const readonly = { code: 'FAILED_PRECONDITION', detail: /is mounted read-only/ };
  await assert.rejects(expand(agent, { ...at, ...grown }), readonly);
});

for (const how of ['error', 'crash'] as const)
  for (const when of ['before', 'after'] as const)
    test(`a retry finishes an expansion that ended in ${how} ${when} any of its steps`, async () => {
      for (let step = 1, isDone = false; !isDone; step++) {
        const bench = openFakeBench();
        const opened = await openPublished(bench, { capability: { fsType: 'xfs' } });
        const { agent, request, at } = opened;
        opened.resize(grownBytes);
        bench.host.failAt({ step, how, when });
        await expand(agent, { ...at, ...grown }).catch(() => {});
        isDone = bench.host.steps < step;
        bench.host.failAt(undefined);
        const retrying = how === 'crash' ? await startAgent(bench) : agent;
        assert.equal(await expand(retrying, { ...at, ...grown }), grownBytes);
        assert.equal(bench.host.state.images.get(request.attachment.path)?.filesystemBytes, grownBytes);
      }
    });
