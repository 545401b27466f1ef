import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Extent } from '../../../../gateway/backend.ts';
import {
  clusters,
  assertProblem,
  makeGateway,
  openMemory,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway-harness.ts';
import { isProblem } from '../../../harness/gateway-problems.ts';

const mebibyte = 2 ** 20;
const block = 4_096;
const whole = { base: undefined, offset: 0, limit: 1_000 };

/** A volume whose every other block is written, cut; then some blocks written again, and cut again. */
async function makeCuts(t: TestContext): Promise<Gateway> {
  const backend = await openMemory();
  const gateway = await makeGateway(t, { backend });
  await gateway.volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1'));
  await gateway.volumes.create(clusters.a, 'a.pvc-2', volumeSpec('pvc-2'));
  for (let i = 0; i < 10; i++) backend.write('a.pvc-1', 2 * i * block, Buffer.from('old'));
  await gateway.snapshots.create(clusters.a, 'a.base', { name: 'base', volumeId: 'a.pvc-1' });
  for (const i of [3, 4, 8]) backend.write('a.pvc-1', i * block, Buffer.from('new'));
  await gateway.snapshots.create(clusters.a, 'a.target', { name: 'target', volumeId: 'a.pvc-1' });
  await gateway.snapshots.create(clusters.a, 'a.other', { name: 'other', volumeId: 'a.pvc-2' });
  return gateway;
}

test('allocated blocks and changed blocks are told, with the size of the snapshot', async t => {
  const { blocks } = await makeCuts(t);
  assert.deepEqual(await blocks.list(clusters.a, 'a.base', whole), {
    sizeBytes: mebibyte,
    blocks: Array.from({ length: 10 }, (_, i) => ({ offset: 2 * i * block, length: block })),
  });
  assert.deepEqual(await blocks.list(clusters.a, 'a.target', { ...whole, base: 'a.base' }), {
    sizeBytes: mebibyte,
    blocks: [3, 4, 8].map(i => ({ offset: i * block, length: block })),
  });
  assert.deepEqual((await blocks.list(clusters.a, 'a.base', { ...whole, base: 'a.base' })).blocks, []);
});

test('pages joined by their next offset give all blocks once, whatever their limit', async t => {
  const { ask } = await makeCuts(t);
  for (const limit of [1, 3, 10, 11]) {
    const seen: Extent[] = [];
    let offset: unknown = 0;
    do {
      const { body } = await ask(`GET /v1/snapshots/a.base/blocks?limit=${limit}&offset=${String(offset)}`);
      const page = body['blocks'] as Extent[];
      assert.ok(page.length <= limit);
      seen.push(...page);
      offset = body['nextOffset'];
    } while (offset !== undefined);
    assert.deepEqual(
      seen.map(extent => extent.offset),
      Array.from({ length: 10 }, (_, i) => 2 * i * block),
    );
  }
});

test('what ends at or before the offset is left out, what spans it is cut', async t => {
  const { blocks } = await makeCuts(t);
  const from = async (offset: number): Promise<Extent | undefined> =>
    (await blocks.list(clusters.a, 'a.base', { ...whole, offset })).blocks[0];
  assert.deepEqual(await from(block), { offset: 2 * block, length: block });
  assert.deepEqual(await from(2 * block + 1), { offset: 2 * block + 1, length: block - 1 });
  assert.equal(await from(mebibyte), undefined);
});

const refused = [
  { query: `offset=${mebibyte + 1}`, status: 416, code: 'OUT_OF_RANGE' },
  { query: 'offset=-1', status: 416, code: 'OUT_OF_RANGE' },
  { query: 'offset=x', status: 400, code: 'INVALID_ARGUMENT' },
  { query: 'offset=1.5', status: 400, code: 'INVALID_ARGUMENT' },
  { query: 'limit=-1', status: 400, code: 'INVALID_ARGUMENT' },
  { query: 'limit=x', status: 400, code: 'INVALID_ARGUMENT' },
  { query: 'base=a.never', status: 404, code: 'NOT_FOUND' },
  { query: 'base=b.base', status: 404, code: 'NOT_FOUND' },
  { query: 'base=a.other', status: 400, code: 'INVALID_ARGUMENT' },
] as const;
for (const { query, status, code } of refused) {
  test(`blocks with ${query} are ${code}`, async t => {
    const { ask } = await makeCuts(t);
    assertProblem(await ask(`GET /v1/snapshots/a.base/blocks?${query}`), status, code);
  });
}

test("an unknown snapshot and another cluster's are NOT_FOUND", async t => {
  const { ask } = await makeCuts(t);
  assertProblem(await ask('GET /v1/snapshots/a.never/blocks'), 404, 'NOT_FOUND');
  assertProblem(await ask('GET /v1/snapshots/a.base/blocks', { as: 'b' }), 404, 'NOT_FOUND');
});

async function* telling(extents: readonly Extent[], error?: Error): AsyncGenerator<Extent> {
  yield* extents;
  if (error) throw error;
}

const disordered: readonly (readonly Extent[])[] = [
  [
    { offset: 2 * block, length: block },
    { offset: 0, length: block },
  ],
  [
    { offset: 0, length: 2 * block },
    { offset: block, length: 2 * block },
  ],
  [{ offset: 2 * mebibyte, length: block }],
];
for (const extents of disordered) {
  test(`a storage that tells ${JSON.stringify(extents)} is not believed`, async t => {
    const inner = await openMemory();
    assert.ok(inner.changes);
    const changes = { ...inner.changes, allocated: () => telling(extents) };
    const gateway = await makeGateway(t, { backend: { ...inner, changes } });
    await gateway.volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1'));
    await gateway.snapshots.create(clusters.a, 'a.base', { name: 'base', volumeId: 'a.pvc-1' });
    await assert.rejects(gateway.blocks.list(clusters.a, 'a.base', whole), isProblem('UNAVAILABLE'));
  });
}

test('a storage that breaks off is an error, never a short list', async t => {
  const inner = await openMemory();
  assert.ok(inner.changes);
  const error = new Error('the connection was lost');
  const changes = { ...inner.changes, allocated: () => telling([{ offset: 0, length: block }], error) };
  const { ask, volumes, snapshots } = await makeGateway(t, { backend: { ...inner, changes } });
  await volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1'));
  await snapshots.create(clusters.a, 'a.base', { name: 'base', volumeId: 'a.pvc-1' });
  assertProblem(await ask('GET /v1/snapshots/a.base/blocks'), 503, 'UNAVAILABLE');
});

test('a backend without changes answers UNIMPLEMENTED', async t => {
  const { changes: _, ...inner } = await openMemory();
  const { ask } = await makeGateway(t, { backend: inner });
  assertProblem(await ask('GET /v1/snapshots/a.base/blocks'), 501, 'UNIMPLEMENTED');
});
