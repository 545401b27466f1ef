// What `test/storage/ceph-vendor.test.ts` runs where Ceph is: the adapter to its dashboard, against the dashboard.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createClient, type StorageClient } from '../../../src/api/client.ts';
import type { Call } from '../../../src/api/http.ts';
import { startVendor, type RunningVendor } from '../../fakes/vendors/reference.ts';
import { mounted } from '../../harness/gateway-harness.ts';
import { isProblem } from '../../harness/gateway-problems.ts';

const root = join(import.meta.dirname, '../../..');
const node = [process.execPath, '--disable-warning=ExperimentalWarning'];
const command = [...node, join(root, 'examples/vendor-ceph-dashboard/main.ts')];
const call = (): Call => ({ deadlineMs: Date.now() + 120_000 });
const mebibyte = 2 ** 20;
const ids = { volumeId: 'east.pvc-1', nodeId: 'n1' };
const body = { name: 'pvc-1', requiredBytes: 8 * mebibyte, capabilities: [mounted] };
const use = { capability: mounted, readonly: false };
const cut = { snapshotId: 'east.snap-1', body: { name: 'snap-1', volumeId: ids.volumeId } };
const copy = { volumeId: 'east.pvc-2', nodeId: 'n2' };
const restoring = {
  ...body,
  name: 'pvc-2',
  requiredBytes: 12 * mebibyte,
  source: { kind: 'snapshot', snapshotId: cut.snapshotId } as const,
};

void test('the adapter passes the kit', () => {
  const kit = [...node, join(root, 'src/fairlead.mjs'), 'verify', '--token', 'first', '--timeout', '300s'];
  const [program = '', ...args] = [
    ...kit,
    '--start',
    command.join(' '),
    '--seed',
    process.env['TEST_SEED'] ?? '1',
  ];
  const env = { ...process.env, TOKEN: 'first' };
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env });
  assert.equal(status, 0, `${stdout}\n${stderr}`);
  requireNothingLeft();
});

void test('what was written before a snapshot is in what is restored from it, and nothing later', async t => {
  const { client } = await open(t);
  await client.createVolume({ ...ids, body }, call());
  const first = await client.attachVolume({ ...ids, body: use }, call());
  assert.equal(first.attachment?.mayFormat, true);
  assert.ok(isDone(first, 'write -P 1 0 1M', 'flush'));
  await client.createSnapshot(cut, call());
  assert.ok(isDone(first, 'write -P 2 0 1M', 'flush'));
  await assert.rejects(client.deleteVolume(ids, call()), isProblem('FAILED_PRECONDITION'));
  await client.detachVolume(ids, call());
  assert.ok(!isDone(first, 'read 0 512'), 'it is read after it was detached');
  await client.createVolume({ ...copy, body: restoring }, call());
  await client.deleteSnapshot(cut, call());
  await client.deleteVolume(ids, call());
  const second = await client.attachVolume({ ...copy, body: use }, call());
  assert.equal(second.attachment?.mayFormat, false);
  assert.ok(isDone(second, 'read -P 1 0 1M', 'read -P 0 1M 11M'));
  await client.detachVolume(copy, call());
  await client.deleteVolume(copy, call());
  requireNothingLeft();
});

void test('of many nodes that ask two adapters at once for a volume, one gets it', async t => {
  const clients = [(await open(t)).client, (await open(t)).client] as const;
  await clients[0].createVolume({ ...ids, body }, call());
  const nodes = Array.from({ length: 8 }, (_, index) => `n${index}`);
  const asked = nodes.map((nodeId, index) =>
    clients[index % 2 === 0 ? 0 : 1].attachVolume({ ...ids, nodeId, body: use }, call()),
  );
  const attached = (await Promise.allSettled(asked)).flatMap(one =>
    one.status === 'fulfilled' ? [one.value] : [],
  );
  assert.equal(attached.length, 1);
  const [{ nodeId } = ids] = attached;
  for (const client of clients) {
    const { attachments } = await client.getVolume(ids, call());
    assert.deepEqual(attachments, [{ nodeId, state: 'attached', readonly: false }]);
  }
  await clients[1].detachVolume({ ...ids, nodeId }, call());
  await clients[0].deleteVolume(ids, call());
  requireNothingLeft();
});

void test('an adapter that was killed knows all that it answered', async t => {
  const { client, vendor } = await open(t);
  await client.createVolume({ ...ids, body }, call());
  const attached = await client.attachVolume({ ...ids, body: use }, call());
  await client.createSnapshot(cut, call());
  const lists = async () => [await client.listVolumes({}, call()), await client.listSnapshots({}, call())];
  const before = await lists();
  await vendor.kill();
  await vendor.start();
  assert.deepEqual(await lists(), before);
  assert.deepEqual(await client.attachVolume({ ...ids, body: use }, call()), attached);
  assert.ok(isDone(attached, 'write -P 3 0 4k'));
  await client.detachVolume(ids, call());
  await client.deleteSnapshot(cut, call());
  await client.deleteVolume(ids, call());
  requireNothingLeft();
});

type Opened = { readonly client: StorageClient; readonly vendor: RunningVendor };

async function open(t: TestContext): Promise<Opened> {
  const vendor = await startVendor(t, { command });
  const client = createClient({ url: vendor.url, token: () => vendor.token });
  t.after(() => client.close());
  return { client, vendor };
}

type Attached = Awaited<ReturnType<StorageClient['attachVolume']>>;

/** True when the volume is read and written so over its attachment. */
function isDone({ attachment }: Attached, ...steps: readonly string[]): boolean {
  if (attachment?.protocol !== 'nbd') return assert.fail('it is not attached over NBD');
  const url = `nbd://${attachment.server}:${attachment.port}/${attachment.export}`;
  const { status, stdout } = spawnSync(
    'qemu-io',
    ['-f', 'raw', ...steps.flatMap(step => ['-c', step]), url],
    {
      encoding: 'utf8',
    },
  );
  return status === 0 && !stdout.includes('Pattern verification failed');
}

/** Neither images nor records. */
function requireNothingLeft(): void {
  for (const rest of [['ls'], ['namespace', 'ls']]) {
    const { status, stdout } = spawnSync('rbd', [...rest, '--pool', 'rbd', '--format', 'json'], {
      encoding: 'utf8',
    });
    assert.equal(status, 0);
    assert.deepEqual(JSON.parse(stdout), []);
  }
}
