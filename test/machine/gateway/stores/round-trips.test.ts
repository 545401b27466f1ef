import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusters, openGateway, mounted, openMemory } from '../../../harness/gateway.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';
import { countRoundTrips } from '../../../harness/stores/round-trips.ts';

const server = sharePostgres();
const any = { ...clusters.any, quota: { volumes: 9 } };

/**
 * The largest number of waits for the server in each of an operation's two transactions; the second one is a single
 * round trip, which is not counted.
 */
const trips = {
  create: [2],
  clone: [4],
  snapshot: [4],
  restore: [4],
  attach: [2],
  detach: [2],
  delete: [3],
};

test('the transactions of an operation take few round trips to the server', { skip }, async t => {
  const { createDatabase, directory } = await server();
  const { urlFile, take, close } = await countRoundTrips(directory, await createDatabase());
  t.after(close);
  const { snapshot, create, volumes, attachments } = await openGateway(t, {
    store: `postgres:${urlFile}`,
    backend: await openMemory(),
  });
  const key = { cluster: any, volumeId: 'any.v', nodeId: 'n1' };
  const operations: Readonly<Record<keyof typeof trips, () => Promise<unknown>>> = {
    create: () => create('any.v'),
    clone: () => create('any.c', { source: { kind: 'volume', volumeId: 'any.v' } }),
    snapshot: () => snapshot('any.s', 'any.v'),
    restore: () => create('any.r', { source: { kind: 'snapshot', snapshotId: 'any.s' } }),
    attach: () => attachments.attach(key, { capability: mounted, readonly: false }),
    detach: () => attachments.detach(key),
    delete: () => volumes.delete(any, 'any.v'),
  };
  const counted: Record<string, readonly number[]> = {};
  for (const [name, operation] of Object.entries(operations)) {
    take();
    await operation();
    counted[name] = take();
  }
  assert.deepEqual(counted, trips);
});
