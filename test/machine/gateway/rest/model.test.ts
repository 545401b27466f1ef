import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { nat, oneof, record } from 'fast-check';
import { rest } from '../../../../gateway/backends/rest.ts';
import { createClient } from '../../../../src/api/client.ts';
import { startVendor, type RunningVendor } from '../../../fakes/storages/reference.ts';
import { createMemoryLog } from '../../../harness/gateway.ts';
import { isFull } from '../../../harness/sample.ts';
import {
  isWithoutGroupsAndZones,
  killedDuring,
  nearNodes,
  openImages,
  untilThere,
} from '../../../harness/model/mortal-storage.ts';
import { event } from '../../../harness/model/operations.ts';
import { toCommand } from '../../../harness/model/play.ts';
import { assertPlays, memoryDirectory } from '../../../harness/model/run.ts';
import type { ModelStorage } from '../../../harness/model/storage.ts';
import { callWithin } from '../../../harness/gateway/program.ts';

const maxKilledAfterMs = 30;

test('after kills and restarts of a storage at any moment, all required objects and their data are there', async t => {
  const directory = memoryDirectory(t);
  const vendor = await startVendor(t, { env: { DIR: directory } });
  const count = { commands: 0, kills: 0, pools: 0 };
  const kill = async (): Promise<void> => {
    count.kills++;
    await vendor.kill();
    await vendor.start();
  };
  const played = event.filter(isWithoutGroupsAndZones).map(found => toCommand(found, () => count.commands++));
  const killed = record({ command: played, afterMs: nat(maxKilledAfterMs) }).map(({ command, afterMs }) =>
    killedDuring(command, () => sleep(afterMs).then(kill)),
  );
  await assertPlays(t, {
    async openStorage() {
      const pool = openPool(t, { vendor, directory, pool: `p${count.pools++}` });
      // Only the data on disk counts in the end.
      return { ...pool, calm: kill };
    },
    command: oneof({ weight: 8, arbitrary: played }, { weight: 1, arbitrary: killed }),
    maxCommands: isFull ? 100 : 40,
    usualRuns: isFull ? 20 : 2,
    endOnFailure: true,
  });
  t.diagnostic(`${count.commands} commands, ${count.kills} kills`);
});

type PoolOptions = { readonly vendor: RunningVendor; readonly directory: string; readonly pool: string };

/** Opens a separate pool over the storage, with its images in the directory. */
function openPool(t: TestContext, { vendor, directory, pool }: PoolOptions): ModelStorage {
  const prefix = `gateway.${pool}.`;
  const far = createClient({ url: vendor.url, token: () => vendor.token });
  t.after(() => far.close());
  writeFileSync(join(directory, 'token'), vendor.token);
  const values = rest.settings.parse({ url: vendor.url, token: 'token', tries: 2, breakFor: '200ms' });
  const { log } = createMemoryLog();
  return {
    // A volume's image has any nonce.
    ...openImages((kind, id) => join(directory, kind, `${prefix}${id}.*.img`)),
    open: () => untilThere(() => rest.open(values, { name: pool, log, directory })),
    async attached() {
      const { volumes } = await untilThere(() => far.listVolumes({}, callWithin(10_000)));
      const ours = volumes.filter(({ id }) => id.startsWith(prefix));
      return new Map(ours.map(({ name, attachments }) => [name, nearNodes(attachments)]));
    },
    mutable: 'label',
    readonly: true,
    leaseMs: 250,
  };
}
