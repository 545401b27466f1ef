import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createClient } from '../../../../src/api/client.ts';
import { startLossyProxy } from '../../../fakes/storages/lossy-proxy.ts';
import { filesBelow, startVendor } from '../../../fakes/storages/reference.ts';
import { mounted, volumeSpec } from '../../../harness/gateway.ts';
import { isFull } from '../../../harness/sample.ts';
import { runGateway } from '../../../harness/gateway/program.ts';
import { askPatiently, listAll, prepareDirectory, type Ask } from '../process.ts';

/** The number of requests about each volume; every third volume is deleted in the end. */
const requestsEach = 4;
const volumes = (isFull ? 10_000 : 600) / requestsEach;
const concurrency = 16;
const body = { capability: mounted, readonly: false };
/** The memory growth, in bytes, from the first fifth to the end: far less than a leak in each request would cause. */
const growth = 48 * 2 ** 20;

test('one in ten answers of a storage is lost, and every object exists once', async t => {
  const vendor = await startVendor(t, { env: { CAPACITY: `${2 ** 44}` } });
  const proxy = await startLossyProxy(t, { url: vendor.url, every: 10 });
  const rest = { backend: 'rest', url: proxy.url, token: 'token', connections: 8 };
  const pool = { ...rest, ...filesBelow(vendor.directory) };
  const directory = await prepareDirectory(t, { acme: pool });
  writeFileSync(join(directory, 'token'), vendor.token);
  const gateway = await runGateway(t, { directory, faults: [] });

  const life = async (index: number): Promise<void> => {
    const name = `pvc-${index}`;
    const volumeId = `a.${name}`;
    const key = { volumeId, nodeId: `n${index % 5}` };
    const asks: readonly Ask[] = [
      (client, call) => client.createVolume({ volumeId, body: volumeSpec(name) }, call),
      (client, call) => client.attachVolume({ ...key, body }, call),
      (client, call) => client.detachVolume(key, call),
      (client, call) =>
        index % 3 === 0 ? client.deleteVolume({ volumeId }, call) : client.getVolume({ volumeId }, call),
    ];
    for (const ask of asks) await askPatiently(gateway, ask);
  };
  await runAll({ from: 0, to: volumes / 5 }, life);
  const before = residentBytes(gateway.pid);
  await runAll({ from: volumes / 5, to: volumes }, life);
  const after = residentBytes(gateway.pid);

  const left = Array.from({ length: volumes }, (_, index) => index).filter(index => index % 3 !== 0);
  const names = left.map(index => `a.pvc-${index}`).toSorted();
  const near = await listAll(gateway.client);
  const client = createClient({ url: vendor.url, token: () => vendor.token });
  t.after(() => client.close());
  const far = await listAll(client);
  assert.deepEqual(near.map(({ id }) => id).toSorted(), names);
  assert.deepEqual(far.map(({ name }) => name).toSorted(), names);
  assert.ok(far.every(({ attachments }) => attachments.length === 0));
  assert.ok(proxy.lost() >= (volumes * requestsEach) / 20, `only ${proxy.lost()} answers were lost`);
  assert.ok(proxy.maxOpen() <= 2 * pool.connections, `${proxy.maxOpen()} connections at a time`);
  assert.ok(after - before < growth, `memory grew from ${before} to ${after} bytes`);
  t.diagnostic(
    `${volumes * requestsEach} requests, ${proxy.lost()} answers lost, ${proxy.maxOpen()} connections at most, ${proxy.open()} in the end, ${Math.round(before / 2 ** 20)} → ${Math.round(after / 2 ** 20)} MiB`,
  );
});

async function runAll(
  { from, to }: { readonly from: number; readonly to: number },
  work: (index: number) => Promise<void>,
): Promise<void> {
  let next = from;
  const drain = async (): Promise<void> => {
    while (next < to) await work(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, drain));
}

function residentBytes(pid = 0): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) * 1_024;
}
