import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../../../src/api/problem.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { volumeSpec } from '../../../harness/gateway.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';
import { useStores } from '../../../harness/stores/store-in.ts';
import { callWithin, type RunningGateway } from '../../../harness/gateway/program.ts';
import { leaseMs } from '../process.ts';
import { startFleet } from './fleet.ts';
import { untilFinished } from './play.ts';
import { startCountedVendor } from './vendor.ts';

const server = sharePostgres();
useStores(async () => `postgres:${await (await server()).createDatabase()}`);

const count = 6;
const lost = new Problem('UNAVAILABLE', 'the storage lost it');

test(
  'the work of a dead replica, including restores, is finished by others: each piece once, without another request',
  { skip },
  async t => {
    const held = Promise.withResolvers<void>();
    let isHolding = false;
    const vendor = await startCountedVendor(t, async () => {
      // The dead replica's requests fail.
      if (isHolding) await held.promise.then(() => Promise.reject(lost));
    });
    const fleet = await startFleet(t, 3, vendor);
    const [first = assert.fail()] = fleet.members;
    await makeSource(first);
    isHolding = true;
    const names = Array.from({ length: count }, (_, index) => `v${index}`);
    const before = vendor.changes.length;
    const asked = names.map((name, index) => beginOne(first, name, index % 2 === 0));
    // The vendor makes one change at a time: the first is under way, the others wait.
    const isBegun = async (): Promise<true | undefined> =>
      (vendor.changes.length > before && (await countClaims('true')) === count) || undefined;
    assert.ok(await poll(isBegun, { everyMs: 20, timeoutMs: 20_000 }));
    await fleet.kill(0);
    await Promise.all(asked);
    await Promise.all([fleet.kill(1), fleet.kill(2)]);
    // Requests that were on their way to the storage have ended there.
    held.resolve();
    assert.ok(await poll(isRunOut, { everyMs: 50, timeoutMs: 20 * leaseMs }));
    isHolding = false;
    const from = vendor.changes.length;
    await Promise.all([fleet.start(0), fleet.start(1), fleet.start(2)]);

    await untilFinished(fleet);
    const [member = assert.fail()] = fleet.members;
    assert.equal((await member.client.listVolumes({}, callWithin(10_000))).volumes.length, count + 1);
    const finished = vendor.changes.slice(from);
    assert.deepEqual(
      finished.map(({ operation, id }) => [operation, id.split('.').at(-2)]).toSorted(),
      names.map(name => ['createVolume', name]),
    );
  },
);

async function makeSource({ client }: RunningGateway): Promise<void> {
  const volume = { volumeId: 'a.source', body: volumeSpec('source') };
  await client.createVolume(volume, callWithin(20_000));
  const snapshot = { snapshotId: 'a.cut', body: { name: 'cut', volumeId: 'a.source' } };
  await client.createSnapshot(snapshot, callWithin(20_000));
}

/** Requests a new or restored volume and ignores the answer. */
async function beginOne({ client }: RunningGateway, name: string, isRestored: boolean): Promise<void> {
  const from = { source: { kind: 'snapshot', snapshotId: 'a.cut' } } as const;
  const create = { volumeId: `a.${name}`, body: volumeSpec(name, isRestored ? from : {}) };
  await client.createVolume(create, callWithin(20_000)).catch(() => undefined);
}

async function countClaims(condition: string): Promise<number> {
  const [row] = await (await server()).query(`select count(*) from claims where ${condition}`, 'store_0');
  return Number(row?.['count']);
}

async function isRunOut(): Promise<true | undefined> {
  const alive = await countClaims('until_ms > extract(epoch from clock_timestamp()) * 1000');
  return alive === 0 || undefined;
}
