import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { poll } from '../../../../src/lib/concurrency.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';
import { isFull, sample } from '../../../harness/sample.ts';
import { useStores } from '../../../harness/stores/store-in.ts';
import { runGateway } from '../../../harness/gateway/program.ts';
import { prepareDirectory } from '../process.ts';
import { startFleet, type Fleet } from './fleet.ts';
import { workWhile } from './play.ts';
import { startCountedVendor } from './vendor.ts';

const server = sharePostgres();
useStores(async () => `postgres:${await (await server()).createDatabase()}`);

/** The longest time, in milliseconds, that replicas work between two kills. */
const maxPauseMs = 400;

/** The number of kills. Each takes about two seconds, more on a busy machine; KILLS=200 was run once as proof. */
const killCount = Number(process.env['KILLS'] ?? (isFull ? 20 : 3));
const fleets = [2, 3];
for (const count of sample('fleets', fleets, 1))
  test(
    `${count} replicas, one after another killed at any moment, lose and repeat nothing`,
    { skip },
    async t => {
      const vendor = await startCountedVendor(t);
      const fleet = await startFleet(t, count, vendor);
      const lives = await workWhile(fleet, vendor, () => killOften(fleet, killCount));
      t.diagnostic(`${killCount} kills, ${lives} lives`);
    },
  );

/** Kills one replica after another and restarts it while the other ones work. */
async function killOften(fleet: Fleet, kills: number): Promise<void> {
  for (let kill = 0; kill < kills; kill++) {
    await sleep(randomInt(maxPauseMs));
    const member = randomInt(fleet.members.length);
    await fleet.kill(member);
    await fleet.start(member);
  }
}

test(
  "a replica serves without a pool on its machine's disk until the replica that has it open ends",
  { skip },
  async t => {
    const directory = await prepareDirectory(t);
    const first = await runGateway(t, { directory, process: {} });
    const { client } = await runGateway(t, { directory, process: {} });
    const ask = () => client.getCapabilities({}, { deadlineMs: Date.now() + 1_000 });
    await assert.rejects(ask(), { code: 'UNAVAILABLE', message: /^pool "images" (is not|cannot be) open/ });
    await first.end();
    const answer = () => ask().catch(() => undefined);
    const found = await poll(answer, { everyMs: 100, timeoutMs: 60_000 });
    assert.deepEqual(
      found?.pools.map(({ name }) => name),
      ['images'],
    );
  },
);
