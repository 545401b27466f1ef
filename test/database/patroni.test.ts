import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryDirectory } from '../harness/gateway-harness.ts';
import { useStores } from '../harness/stores/store-in.ts';
import { startFleet } from '../machine/gateway/replicas/fleet.ts';
import { workWhile } from '../machine/gateway/replicas/play.ts';
import { startCountedVendor } from '../machine/gateway/replicas/vendor.ts';
import { startPatroni, whyNoPatroni } from './patroni.ts';

const failOvers = 2;
const betweenMs = 3_000;

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
        const from = vendor.changes.length;
        const sinceMs = performance.now();
        await patroni.failOver();
        pauses.push(Math.round(performance.now() - sinceMs), vendor.changes.length - from);
      }
      await sleep(betweenMs);
    });
    t.diagnostic(`${failOvers} fail-overs (${pauses.join()} ms, changes), ${lives} lives`);
  },
);
