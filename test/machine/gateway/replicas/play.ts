import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { poll } from '../../../../src/lib/concurrency.ts';
import { volumeSpec } from '../../../harness/gateway.ts';
import { askPatiently, listAll } from '../process.ts';
import type { Fleet } from './fleet.ts';
import { leftBehind, work, type KnownVolumes } from './load.ts';
import type { CountedVendor } from './vendor.ts';
import { hashOf } from '../../../harness/values.ts';
import { callWithin } from '../../../harness/gateway/program.ts';

const workers = 5;
const shared = ['a.shared-1', 'a.shared-2'];
/** The hash of a new volume's data. */
const ofZeros = createHash('sha256')
  .update(Buffer.alloc(2 ** 20))
  .digest('hex');

/**
 * Runs workers on the fleet while `disturb` goes on. Fails unless the replicas, the storage and the answers agree in
 * the end, with all data, and the storage never got a second attach of a volume. Returns the number of lives.
 */
export async function workWhile(
  fleet: Fleet,
  vendor: CountedVendor,
  disturb: () => Promise<void>,
): Promise<number> {
  const known: KnownVolumes = new Map();
  const operator = fleet.connect();
  for (const volumeId of shared) {
    const create = { volumeId, body: volumeSpec(volumeId.replace('a.', '')) };
    await askPatiently(operator, (client, call) => client.createVolume(create, call));
  }
  let isOver = false;
  const working = Array.from({ length: workers }, (_, index) =>
    work({ name: `w${index}`, caller: fleet.connect(), known, shared }, () => isOver),
  );
  const disturbed = disturb().finally(() => (isOver = true));
  const [, ...lives] = await Promise.all([disturbed, ...working]);
  assert.ok(lives.every(one => one > 0));
  await untilFinished(fleet);
  await assertSame(fleet, vendor, known);
  return lives.reduce((sum, one) => sum + one, 0);
}

/** Waits until sweeps have finished abandoned work; the first sweep runs at a gateway's start. */
export async function untilFinished(fleet: Fleet): Promise<void> {
  const { client } = fleet.connect();
  const isFinished = async (): Promise<true | undefined> => {
    const volumes = await listAll(client);
    return volumes.every(({ state }) => state === 'ready') || undefined;
  };
  assert.ok(await poll(isFinished, { everyMs: 200, timeoutMs: 60_000 }), 'something stays unfinished');
}

/** Fails unless each replica, the storage and the recorded answers agree, and nothing else is left. */
async function assertSame(fleet: Fleet, vendor: CountedVendor, known: KnownVolumes): Promise<void> {
  assert.deepEqual(vendor.doubled, []);
  const stored = vendor.disk.list('volume').map(document => {
    const { name } = document.spec as { readonly name: string };
    assert.equal(document.attached, undefined);
    return [name, hashOf(vendor.disk.pathOf(document))] as const;
  });
  // A volume that was left behind may or may not exist; if it does, it exists once.
  const expected = [...known, ...stored.filter(([id, hash]) => id.endsWith(leftBehind) && hash === ofZeros)];
  assert.deepEqual(stored.toSorted(), expected.toSorted());
  const ids = expected.map(([id]) => id).sort();
  assert.equal(new Set(ids).size, ids.length);
  for (const member of fleet.members) {
    assert.ok(member);
    const volumes = await listAll(member.client);
    assert.deepEqual(
      volumes.map(({ id, state, attachments }) => [id, state, attachments]),
      ids.map(id => [id, 'ready', []]),
    );
    const { snapshots } = await member.client.listSnapshots({}, callWithin(10_000));
    assert.deepEqual(snapshots, []);
  }
  assert.deepEqual(vendor.disk.list('snapshot'), []);
}
