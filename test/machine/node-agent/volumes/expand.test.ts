import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { expand } from '../../../../node-agent/volumes/expand.ts';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import {
  defaultImageBytes,
  findMissing,
  measure,
  MiB,
  openFakeBench,
  openRealBench,
  requestFor,
  startAgent,
  whyNoMachine,
  type Bench,
} from '../../../harness/node-agent-bench.ts';

const grownBytes = defaultImageBytes + 100 * MiB;
const all = { requiredBytes: 0, limitBytes: 0 };
const grown = { requiredBytes: grownBytes, limitBytes: 0 };

async function openPublished(bench: Bench, change: object = {}) {
  const made = requestFor(bench, bench.makeImage('image'));
  const request = { ...made, capability: { ...made.capability, ...change } };
  const agent = await startAgent(bench);
  await stage(agent, request);
  await publish(agent, request);
  const { volumeId, targetPath, stagingPath } = request;
  const end = async (): Promise<void> => {
    await unpublish(agent, request);
    await unstage(agent, request);
  };
  return { agent, request, at: { volumeId, path: targetPath }, staged: { volumeId, path: stagingPath }, end };
}

for (const fsType of ['xfs', 'btrfs']) {
  const skip = whyNoMachine ?? findMissing([`mkfs.${fsType}`]);
  test(`a mounted ${fsType} grows with its volume and keeps its data`, skip ? { skip } : {}, async t => {
    const bench = openRealBench(t);
    const { agent, request, at, staged, end } = await openPublished(bench, { fsType });
    writeFileSync(`${request.targetPath}/file`, 'data');
    const before = await measure(agent, at);
    bench.resizeImage(request.attachment.path, grownBytes);
    assert.equal(await expand(agent, { ...at, ...grown }), grownBytes);
    const after = await measure(agent, at);
    assert.ok(after.bytes.total - before.bytes.total >= 96 * MiB);
    assert.equal(await expand(agent, { ...staged, ...grown }), grownBytes);
    assert.deepEqual((await measure(agent, at)).bytes.total, after.bytes.total);
    assert.equal(readFileSync(`${request.targetPath}/file`, 'utf8'), 'data');
    await end();
  });
}

const noBtrfs = whyNoMachine ?? findMissing(['mkfs.btrfs']);

test(
  'a btrfs smaller than the kernel would grow it to is staged as it is, and grows to a size that can be',
  noBtrfs ? { skip: noBtrfs } : {},
  async t => {
    const bench = openRealBench(t);
    const agent = await startAgent(bench);
    const image = bench.makeImage('small', { content: 'btrfs', sizeBytes: 128 * MiB });
    const made = requestFor(bench, image);
    const attachment = { ...made.attachment, sizeBytes: 128 * MiB };
    const request = { ...made, attachment, capability: { ...made.capability, fsType: 'btrfs' } };
    const at = { volumeId: request.volumeId, path: request.stagingPath };
    await stage(agent, request);
    bench.resizeImage(image, 200 * MiB);
    const little = { requiredBytes: 200 * MiB, limitBytes: 0 };
    await assert.rejects(expand(agent, { ...at, ...little }), {
      code: 'FAILED_PRECONDITION',
      detail: /cannot be grown to less than 268435456 bytes/,
    });
    bench.resizeImage(image, grownBytes);
    assert.equal(await expand(agent, { ...at, ...grown }), grownBytes);
    await unstage(agent, request);
  },
);

const real = whyNoMachine ? { skip: whyNoMachine } : {};

test(
  'a mounted ext4 grows, or says which capability is missing and grows at the next stage',
  real,
  async t => {
    const bench = openRealBench(t);
    const { agent, request, at, end } = await openPublished(bench);
    const before = await measure(agent, at);
    bench.resizeImage(request.attachment.path, grownBytes);
    const outcome = await expand(agent, { ...at, ...grown }).catch((error: unknown) => error);
    if (outcome !== grownBytes) {
      assert.match(String(outcome), /cannot be grown while it is mounted.*CAP_SYS_RESOURCE/);
      assert.equal((outcome as { code?: string }).code, 'FAILED_PRECONDITION');
      await end();
      await stage(agent, request);
      await publish(agent, request);
      assert.equal(await expand(agent, { ...at, ...grown }), grownBytes);
    }
    assert.ok((await measure(agent, at)).bytes.total - before.bytes.total >= 90 * MiB);
    await end();
  },
);

test('a block volume grows with its file, at each of its paths', real, async t => {
  const bench = openRealBench(t);
  const { agent, request, at, staged, end } = await openPublished(bench, {
    accessType: 'block',
    fsType: undefined,
  });
  bench.resizeImage(request.attachment.path, grownBytes);
  assert.equal(await expand(agent, { ...staged, ...grown }), grownBytes);
  bench.resizeImage(request.attachment.path, 2 * grownBytes);
  assert.equal(await expand(agent, { ...at, ...all }), 2 * grownBytes);
  const size = execFileSync('blockdev', ['--getsize64', request.targetPath], { encoding: 'utf8' });
  assert.equal(Number(size), 2 * grownBytes);
  await end();
});

test('a device that has not grown yet is UNAVAILABLE, and nothing is said to be larger', async () => {
  const { agent, at } = await openPublished(openFakeBench());
  await assert.rejects(expand(agent, { ...at, ...grown }), {
    code: 'UNAVAILABLE',
    detail: `the device of volume "c.v" has ${defaultImageBytes} bytes and not yet the ${grownBytes} asked for`,
  });
});

test('a limit below the size is OUT_OF_RANGE, since nothing shrinks', async () => {
  const { agent, at } = await openPublished(openFakeBench());
  await assert.rejects(expand(agent, { ...at, requiredBytes: 1, limitBytes: MiB }), {
    code: 'OUT_OF_RANGE',
    detail: /does not shrink/,
  });
});

test('a size that is there already is fine, and the device is not looked at anew', async () => {
  const bench = openFakeBench();
  const { agent, at, request } = await openPublished(bench, { fsType: 'xfs' });
  bench.resizeImage(request.attachment.path, grownBytes);
  assert.equal(await expand(agent, { ...at, requiredBytes: MiB, limitBytes: 0 }), defaultImageBytes);
});

test('a read-only mount is not grown, and the error says so', async () => {
  const bench = openFakeBench();
  const { agent, at, request } = await openPublished(bench, { mountFlags: ['ro'] });
  bench.resizeImage(request.attachment.path, grownBytes);
  await assert.rejects(expand(agent, { ...at, ...grown }), {
    code: 'FAILED_PRECONDITION',
    detail: /is mounted read-only/,
  });
});

test('a volume that is elsewhere or unknown is NOT_FOUND', async () => {
  const { agent, at } = await openPublished(openFakeBench());
  for (const change of [{ path: 'some/path' }, { path: `${at.path}-other` }, { volumeId: 'c.none' }])
    await assert.rejects(expand(agent, { ...at, ...change, ...all }), { code: 'NOT_FOUND' });
});

for (const how of ['error', 'crash'] as const) {
  for (const when of ['before', 'after'] as const) {
    test(`a retry finishes an expansion that ended in ${how} ${when} any of its steps`, async () => {
      for (let step = 1, isDone = false; !isDone; step++) {
        const bench = openFakeBench();
        const { agent, request, at } = await openPublished(bench, { fsType: 'xfs' });
        const { path } = request.attachment;
        bench.resizeImage(path, grownBytes);
        bench.host.failAt({ step, how, when });
        await expand(agent, { ...at, ...grown }).catch(() => {});
        isDone = bench.host.steps < step;
        bench.host.failAt(undefined);
        const retrying = how === 'crash' ? await startAgent(bench) : agent;
        assert.equal(await expand(retrying, { ...at, ...grown }), grownBytes);
        assert.equal(bench.host.state.images.get(path)?.filesystemBytes, grownBytes);
      }
    });
  }
}
