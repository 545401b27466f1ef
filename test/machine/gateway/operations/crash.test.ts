import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { crashPoints } from '../../../fakes/faulty-backend/rules.ts';
import { sample } from '../../../harness/sample.ts';
import {
  createMutations,
  fixtures,
  killInEach,
  nodeId,
  requireComplete,
  volumesAfter,
} from '../mutations.ts';
import { callWithin, runGateway, type RunningGateway } from '../../../harness/gateway/program.ts';
import { prepareDirectory } from '../process.ts';
import { hashOf } from '../../../harness/values.ts';

const mebibyte = 2 ** 20;
const mutations = createMutations({ preallocate: 'true' });

test('a gateway that is killed in any mutation, at any step, loses and repeats nothing', async t => {
  const points = sample('points', crashPoints, 1);
  await Promise.all(
    [points.slice(0, 2), points.slice(2)].map(async half => {
      for (const point of half) await t.test(`killed ${point}`, inner => crashInEach(inner, point));
    }),
  );
});

async function crashInEach(t: TestContext, point: (typeof crashPoints)[number]): Promise<void> {
  const directory = await prepareDirectory(t);
  const first = await runGateway(t, { directory, faults: [] });
  for (const ask of fixtures) await ask(first.client, callWithin(10_000));
  const hashes = seed(directory, ['source', 'plain', 'held', 'grown', 'tuned']);
  await first.end('SIGKILL');

  await killInEach(t, mutations, { directory, point });
  const last = await runGateway(t, { directory, faults: [] });
  await assertWhole(last, directory);
  assertBytes(directory, hashes);
}

/** Fails unless the answers, the records and the storage agree. */
async function assertWhole(gateway: RunningGateway, directory: string): Promise<void> {
  const { volumes, snapshots } = await requireComplete(gateway, mutations);
  for (const { id, name, sizeBytes, attachments } of volumes) {
    assert.equal(id, `a.${name}`);
    assert.equal(sizeBytes, name === 'grown' ? 3 * mebibyte : mebibyte, id);
    for (const attachment of attachments) assert.equal(attachment.nodeId, nodeId);
  }
  assert.deepEqual(volumes.find(({ name }) => name === 'tuned')?.mutableParameters, { preallocate: 'true' });
  const images = readdirSync(join(directory, 'images')).filter(name => name.endsWith('.img'));
  assert.deepEqual(
    images.sort(),
    volumesAfter.map(name => `a.${name}.img`),
  );
  const both = await gateway.client.getGroup({ groupId: 'a.both' }, callWithin(10_000));
  const ids = ['a.cut', ...both.snapshots.map(({ id }) => id)].sort();
  assert.deepEqual(snapshots.map(({ id }) => id).sort(), ids);
  assert.deepEqual(new Set([both, ...snapshots].map(({ state }) => state)), new Set(['ready']));
  assert.deepEqual(
    readdirSync(join(directory, 'images/snapshots')).sort(),
    ids.flatMap(id => [`.${id}.snap.made`, `${id}.snap`]).sort(),
  );
  assert.deepEqual(readdirSync(join(directory, 'images/drafts')), []);
}

/** Fails unless every volume has its data, and every copy has its source's. */
function assertBytes(directory: string, hashes: ReadonlyMap<string, string>): void {
  const images = join(directory, 'images');
  for (const [name, hash] of hashes)
    assert.equal(hashOf(join(images, `a.${name}.img`), mebibyte), hash, name);
  for (const copy of ['a.copy.img', 'snapshots/a.cut.snap'])
    assert.equal(hashOf(join(images, copy), mebibyte), hashes.get('source'), copy);
  assert.equal(statSync(join(images, 'a.grown.img')).size, 3 * mebibyte);
  assert.ok(statSync(join(images, 'a.tuned.img')).blocks * 512 >= mebibyte);
}

/** Writes to volumes as nodes would, and returns the hash of the first mebibyte of each. */
function seed(directory: string, names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    names.map(name => {
      const path = join(directory, 'images', `a.${name}.img`);
      const bytes = Buffer.alloc(mebibyte);
      randomBytes(64 * 1_024).copy(bytes, 128 * 1_024);
      writeFileSync(path, bytes, { flag: 'r+' });
      return [name, hashOf(path, mebibyte)];
    }),
  );
}
