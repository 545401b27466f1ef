import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Extent } from '../../../../gateway/backend.ts';
import { clusters, assertProblem, mounted, openGateway, type Gateway } from '../../../harness/gateway.ts';

const mebibyte = 2 ** 20;
const block = 4_096;
const whole = { base: undefined, offset: 0, limit: 1_000 };

/**
 * Makes a volume with every second block written and a snapshot of it, and then further writes and a second snapshot.
 */
async function makeCuts(t: TestContext): Promise<Gateway> {
  const gateway = await openGateway(t, { volumes: ['pvc-1', 'pvc-2'] });
  const { backend } = gateway;
  for (let i = 0; i < 10; i++) backend.write('a.pvc-1', 2 * i * block, Buffer.from('old'));
  await gateway.snapshot('a.base', 'a.pvc-1');
  for (const i of [3, 4, 8]) backend.write('a.pvc-1', i * block, Buffer.from('new'));
  await gateway.snapshot('a.target', 'a.pvc-1');
  await gateway.snapshot('a.other', 'a.pvc-2');
  return gateway;
}

test('allocated blocks and changed blocks are listed, with the size of the snapshot', async t => {
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

test('pages joined by their next offset have all blocks once, with any limit', async t => {
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
    const offsets = seen.map(extent => extent.offset);
    assert.deepEqual(
      offsets,
      Array.from({ length: 10 }, (_, i) => 2 * i * block),
    );
  }
});

test('an extent that ends at or before the offset is omitted, and one that spans it begins there', async t => {
  const { blocks } = await makeCuts(t);
  const from = async (offset: number): Promise<Extent | undefined> =>
    (await blocks.list(clusters.a, 'a.base', { ...whole, offset })).blocks[0];
  assert.deepEqual(await from(block), { offset: 2 * block, length: block });
  assert.deepEqual(await from(2 * block + 1), { offset: 2 * block + 1, length: block - 1 });
  assert.equal(await from(mebibyte), undefined);
});

for (const [query, status, code] of [
  [`offset=${mebibyte + 1}`, 416, 'OUT_OF_RANGE'],
  ['offset=-1', 416, 'OUT_OF_RANGE'],
  ['base=a.never', 404, 'NOT_FOUND'],
  ['base=b.base', 404, 'NOT_FOUND'],
  ['base=a.other', 400, 'INVALID_ARGUMENT'],
] as const)
  test(`blocks with ${query} are ${code}`, async t => {
    const { ask } = await makeCuts(t);
    assertProblem(await ask(`GET /v1/snapshots/a.base/blocks?${query}`), status, code);
  });

test('the blocks of an encrypted snapshot are not listed: a node has them at other offsets', async t => {
  const gateway = await openGateway(t);
  await gateway.create('a.pvc-1', { parameters: { encryption: 'luks' }, capabilities: [mounted] });
  await gateway.snapshot('a.base', 'a.pvc-1');
  await gateway.snapshot('a.target', 'a.pvc-1');
  for (const query of ['', '?base=a.base'])
    assertProblem(await gateway.ask(`GET /v1/snapshots/a.target/blocks${query}`), 501, 'UNIMPLEMENTED');
});

/** Makes a gateway with the snapshot a.base. The storage lists these extents, and can then fail. */
async function makeListing(t: TestContext, extents: readonly Extent[], error?: Error): Promise<Gateway> {
  async function* allocated(): AsyncGenerator<Extent> {
    yield* extents;
    if (error) throw error;
  }
  const gateway = await openGateway(t, {
    own: ({ changes }) => ({ changes: { ...changes, allocated } }),
    volumes: ['pvc-1'],
  });
  await gateway.snapshot('a.base', 'a.pvc-1');
  return gateway;
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
for (const extents of disordered)
  test(`a storage that lists ${JSON.stringify(extents)} is not believed`, async t => {
    const { blocks } = await makeListing(t, extents);
    await assert.rejects(blocks.list(clusters.a, 'a.base', whole), { code: 'UNAVAILABLE' });
  });

test('a list that breaks off is an error, never a short list', async t => {
  const { ask } = await makeListing(t, [{ offset: 0, length: block }], new Error('the connection was lost'));
  assertProblem(await ask('GET /v1/snapshots/a.base/blocks'), 503, 'UNAVAILABLE');
});
