import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { asProblem, problemTable } from '../../src/api/problem.ts';
import { poll } from '../../src/lib/concurrency.ts';
import { temporaryDirectory } from '../harness/gateway-harness.ts';
import { useStores } from '../harness/stores/store-in.ts';
import { callWithin } from '../machine/gateway/process.ts';
import { type Fleet, startFleet } from '../machine/gateway/replicas/fleet.ts';
import { workWhile } from '../machine/gateway/replicas/play.ts';
import { startCountedVendor } from '../machine/gateway/replicas/vendor.ts';
import { startPatroni, whyNoPatroni } from './patroni.ts';

const failOvers = 2;
const betweenMs = 3_000;
/** How often a change may be asked for once there is a new primary, with a pause, until it is answered. */
const mostTries = 60;

test(
  'two replicas go on when the primary of their database dies, and lose and double nothing',
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

/** How often a change was asked for until it was answered; what may be tried again is asked for once more after a pause. */
async function triesUntilAnswered(fleet: Fleet, nodeId: string): Promise<number> {
  const { client } = fleet.connect();
  for (let tries = 1; ; tries++) {
    try {
      await client.putNode({ nodeId, body: {} }, callWithin(10_000));
      return tries;
    } catch (error) {
      assert.ok(!problemTable[asProblem(error).code].final && tries < mostTries, String(error));
      await sleep(250);
    }
  }
}
