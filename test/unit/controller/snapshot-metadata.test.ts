import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StorageClient } from '../../../src/api/client.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { Problem } from '../../../src/api/problem.ts';
import { openController } from '../../harness/controller.ts';

const sizeBytes = 1_000_000;

/**
 * Lists the blocks of a snapshot with every tenth of 100 bytes written; pages have at most `pageSize` extents.
 */
function blocksOf(count: number, pageSize = Number.POSITIVE_INFINITY): StorageClient['listBlocks'] {
  return async ({ offset = 0, limit = 1_000 }) => {
    const all = Array.from({ length: count }, (_, i) => ({ offset: i * 100, length: 10 }));
    const left = all.filter(block => block.offset + block.length > offset);
    const blocks = left.slice(0, Math.min(limit, pageSize));
    const last = blocks.at(-1);
    return blocks.length < left.length && last
      ? { sizeBytes, blocks, nextOffset: last.offset + last.length }
      : { sizeBytes, blocks };
  };
}

type Message = { readonly block_metadata: readonly { readonly byte_offset: unknown }[] };

function offsetsOf(messages: readonly Message[]): readonly number[] {
  return messages.flatMap(({ block_metadata }) => block_metadata.map(block => Number(block.byte_offset)));
}

test('all pages come as one stream, with one type and one size, in increasing order', async t => {
  const { csi, asked } = await openController(t, { listBlocks: blocksOf(25) });
  const messages = await Array.fromAsync(
    csi.snapshotMetadata.GetMetadataAllocated({ snapshot_id: 'a.s', max_results: 10 }),
  );
  assert.equal(messages.length, 3);
  for (const message of messages) {
    assert.equal(message.block_metadata_type, 'VARIABLE_LENGTH');
    assert.equal(message.volume_capacity_bytes, String(sizeBytes));
    assert.ok(message.block_metadata.length <= 10);
  }
  assert.deepEqual(
    offsetsOf(messages),
    Array.from({ length: 25 }, (_, i) => i * 100),
  );
  const inputs = asked.map(([, input]) => input);
  assert.deepEqual(
    inputs,
    [0, 910, 1_910].map(offset => ({ snapshotId: 'a.s', offset, limit: 10 })),
  );
});

test('GetMetadataDelta names the base, and both RPCs start at the requested offset', async t => {
  const { csi, asked } = await openController(t, { listBlocks: blocksOf(3) });
  const request = { base_snapshot_id: 'a.base', target_snapshot_id: 'a.target', starting_offset: 110 };
  const messages = await Array.fromAsync(csi.snapshotMetadata.GetMetadataDelta(request));
  assert.deepEqual(offsetsOf(messages), [200]);
  const input = { snapshotId: 'a.target', base: 'a.base', offset: 110 };
  assert.partialDeepStrictEqual(asked, [['listBlocks', input]]);
});

test('a failed page ends the stream with an error after the earlier pages', async t => {
  const whole = blocksOf(25, 5);
  const listBlocks: StorageClient['listBlocks'] = (input, call) =>
    (input.offset ?? 0) > 500
      ? Promise.reject(new Problem('UNAVAILABLE', 'the storage API cannot be reached'))
      : whole(input, call);
  const { csi } = await openController(t, { listBlocks });
  const seen: unknown[] = [];
  await assert.rejects(
    async () => {
      for await (const message of csi.snapshotMetadata.GetMetadataAllocated({ snapshot_id: 'a.s' }))
        seen.push(...message.block_metadata);
    },
    { code: 'UNAVAILABLE', detail: /cannot be reached/ },
  );
  assert.equal(seen.length, 10);
});

test('pages of two sizes are an error, not one snapshot', async t => {
  const whole = blocksOf(25, 5);
  const listBlocks: StorageClient['listBlocks'] = async (input, call) => {
    const page = await whole(input, call);
    return { ...page, sizeBytes: sizeBytes + (input.offset ?? 0) };
  };
  const { csi } = await openController(t, { listBlocks });
  const stream = csi.snapshotMetadata.GetMetadataAllocated({ snapshot_id: 'a.s' });
  await assert.rejects(Array.fromAsync(stream), { code: 'UNAVAILABLE' });
});

test('no more pages are requested once the caller has disconnected', async t => {
  const whole = blocksOf(1_000, 1);
  let signal: AbortSignal | undefined;
  const listBlocks: StorageClient['listBlocks'] = (input, call) => {
    ({ signal } = call);
    return whole(input, call);
  };
  const { csi, asked } = await openController(t, { listBlocks });
  for await (const message of csi.snapshotMetadata.GetMetadataAllocated({ snapshot_id: 'a.s' }))
    if (message.block_metadata.length > 0) break;
  assert.ok(await poll(() => signal?.aborted || undefined, { everyMs: 10, timeoutMs: 60_000 }));
  assert.ok(asked.length < 1_000, `${asked.length} pages were asked for`);
});
