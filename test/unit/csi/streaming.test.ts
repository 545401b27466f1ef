import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../../src/api/problem.ts';
import type { CsiClient } from '../../../src/csi/client.ts';
import type { Streaming } from '../../../src/csi/call.ts';
import { clientOf, serveCsi, temporaryDir } from '../../harness/csi-serving.ts';

type Message = { readonly volume_capacity_bytes: number; readonly block_metadata: readonly object[] };

async function serveStream(t: TestContext, handler: Streaming<never, Message>): Promise<CsiClient> {
  const socketPath = join(await temporaryDir(t), 'csi.sock');
  await serveCsi(t, socketPath, { metadata: { GetMetadataAllocated: handler } });
  return clientOf(t, socketPath);
}

test('a stream has all messages in order, and ends', async t => {
  const csi = await serveStream(t, async function* () {
    for (let i = 0; i < 100; i++) yield { volume_capacity_bytes: i, block_metadata: [] };
  });
  const messages = await Array.fromAsync(csi.snapshotMetadata.GetMetadataAllocated({}));
  assert.deepEqual(
    messages.map(message => Number(message.volume_capacity_bytes)),
    Array.from({ length: 100 }, (_, i) => i),
  );
});

test('what is thrown before, in or after the messages is the status of the stream, and never a regular end', async t => {
  for (const count of [0, 1, 3]) {
    const csi = await serveStream(t, async function* () {
      for (let i = 0; i < count; i++) yield { volume_capacity_bytes: 1, block_metadata: [] };
      throw new Problem('NOT_FOUND', 'there is no snapshot "a.x"');
    });
    let seen = 0;
    await assert.rejects(
      async () => {
        for await (const _ of csi.snapshotMetadata.GetMetadataAllocated({})) seen++;
      },
      { code: 'NOT_FOUND', detail: /^there is no snapshot "a.x" \(request [0-9a-f]{12}\)$/ },
    );
    assert.equal(seen, count);
  }
});

test('a failure that nobody named is UNAVAILABLE', async t => {
  const csi = await serveStream(t, () => {
    throw new TypeError('secret');
  });
  await assert.rejects(Array.fromAsync(csi.snapshotMetadata.GetMetadataAllocated({})), {
    code: 'UNAVAILABLE',
    detail: /^unexpected failure/,
  });
});

test('a slow reader is waited for', async t => {
  let made = 0;
  const block = { byte_offset: 1, size_bytes: 1 };
  const csi = await serveStream(t, async function* () {
    for (; made < 1_000; made++) {
      yield { volume_capacity_bytes: 1, block_metadata: Array.from({ length: 10_000 }, () => block) };
      await sleep(0);
    }
  });
  for await (const _ of csi.snapshotMetadata.GetMetadataAllocated({})) {
    await sleep(1_000);
    break;
  }
  assert.ok(made < 500, `${made} messages were made for a reader that took one`);
});

test('an RPC without a handler is UNIMPLEMENTED', async t => {
  const csi = await serveStream(t, async function* () {
    yield { volume_capacity_bytes: 1, block_metadata: [] };
  });
  await assert.rejects(Array.fromAsync(csi.snapshotMetadata.GetMetadataDelta({})), { code: 'UNIMPLEMENTED' });
});
