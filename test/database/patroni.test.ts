import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { asProblem, problemTable } from '../../src/api/problem.ts';
import { poll } from '../../src/lib/concurrency.ts';
import { temporaryDirectory } from '../harness/gateway.ts';
import { useStores } from '../harness/stores/store-in.ts';
import { type Fleet, startFleet } from '../machine/gateway/replicas/fleet.ts';
import { workWhile } from '../machine/gateway/replicas/play.ts';
import { startCountedVendor } from '../machine/gateway/replicas/vendor.ts';
import { startPatroni, whyNoPatroni } from './patroni.ts';
import { callWithin } from '../harness/gateway/program.ts';

const failOvers = 2;
const betweenMs = 3_000;
/** The largest number of attempts until a change succeeds after a failover, with pauses. */
const maxTries = 60;

test(
  'two replicas continue when the primary of their database dies, and neither lose nor repeat a change',
  { skip: whyNoPatroni() },
  async t => {
    const patroni = await startPatroni(t);
    const urlFile = join(temporaryDirectory(t), 'store.url');
    writeFileSync(urlFile, patroni.url, { mode: 0o600 });
    useStores(() => `postgres:${urlFile}`);
    const vendor = await startCountedVendor(t);
    const fleet = await startFleet(t, 2, vendor);
    const pauses: number[] = [];
    const lives = await workWhile(fleet, vendor, async () => {
      for (let count = 0; count < failOvers; count++) {
        await sleep(betweenMs);
        await patroni.failOver(async () => {
          const from = vendor.changes.length;
          const sinceMs = performance.now();
          const tries = await triesUntilAnswered(fleet, `n${count}`);
          pauses.push(Math.round(performance.now() - sinceMs), tries);
          const goesOn = () => vendor.changes.length > from || undefined;
          assert.ok(await poll(goesOn, { everyMs: 100, timeoutMs: 60_000 }), 'no work goes on');
        });
      }
      await sleep(betweenMs);
    });
    t.diagnostic(`${failOvers} fail-overs (${pauses.join()} ms to an answer, tries), ${lives} lives`);
  },
);

/** Repeats a change after retryable errors, with pauses, until it succeeds; returns the number of attempts. */
async function triesUntilAnswered(fleet: Fleet, nodeId: string): Promise<number> {
  const { client } = fleet.connect();
  for (let tries = 1; ; tries++) {
    try {
      await client.putNode({ nodeId, body: {} }, callWithin(10_000));
      return tries;
    } catch (error) {
      assert.ok(!problemTable[asProblem(error).code].final && tries < maxTries, String(error));
      await sleep(250);
    }
  }
}
