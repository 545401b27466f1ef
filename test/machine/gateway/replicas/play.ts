import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { StorageClient } from '../../../../src/api/client.ts';
import type { Volume } from '../../../../src/api/volume.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { volumeSpec } from '../../../harness/gateway-harness.ts';
import { askPatiently, callWithin } from '../process.ts';
import type { Fleet } from './fleet.ts';
import { hashOf, leftBehind, work, type Known } from './load.ts';
import type { CountedVendor } from './vendor.ts';

const workers = 5;
const shared = ['a.shared-1', 'a.shared-2'];
/** The hash of a new volume's bytes. */
const ofZeros = createHash('sha256')
  .update(Buffer.alloc(2 ** 20))
  .digest('hex');

/**
 * Lets workers live volumes' lives at the fleet while `disturb` goes on. In the end what each replica says, what is stored
 * and what was answered are the same, with all bytes, and no volume was ever asked to be attached twice. Returns how many
 * lives it were.
 */
export async function workWhile(
  fleet: Fleet,
  vendor: CountedVendor,
  disturb: () => Promise<void>,
): Promise<number> {
  const known: Known = new Map();
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

/** Waits until sweeps have finished what nobody asks for any more; the first is that of a gateway's start. */
export async function untilFinished(fleet: Fleet): Promise<void> {
  const { client } = fleet.connect();
  const isFinished = async (): Promise<true | undefined> => {
    const volumes = await listAll(client);
    return volumes.every(({ state }) => state === 'ready') || undefined;
  };
  assert.ok(await poll(isFinished, { everyMs: 200, timeoutMs: 60_000 }), 'something stays unfinished');
}

async function listAll(client: StorageClient): Promise<readonly Volume[]> {
  const all: Volume[] = [];
  let pageToken: string | undefined;
  do {
    const page = await client.listVolumes({ pageToken }, callWithin(10_000));
    all.push(...page.volumes);
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  return all;
}

/** What each replica says, what is stored, and what the cluster was answered are the same; nothing is left of the rest. */
async function assertSame(fleet: Fleet, vendor: CountedVendor, known: Known): Promise<void> {
  assert.deepEqual(vendor.doubled, []);
  const stored = vendor.disk.list('volume').map(document => {
    const { name } = document.asked as { readonly name: string };
    assert.equal(document.attached, undefined);
    return [name, hashOf(vendor.disk.pathOf(document))] as const;
  });
  // Of what was left behind nobody knows whether it was begun; what was is there, and once.
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
