import { join } from 'node:path';
import { test } from 'node:test';
import { startVendor } from '../../../fakes/storages/reference.ts';
import { isFull } from '../../../harness/sample.ts';
import { assertSurvivesKills, openImages, openRestPool } from '../../../harness/model/mortal-storage.ts';
import { memoryDirectory } from '../../../harness/model/run.ts';

test('after kills and restarts of a storage at any moment, all required objects and their data are there', async t => {
  const directory = memoryDirectory(t);
  const vendor = await startVendor(t, { env: { DIR: directory } });
  await assertSurvivesKills(t, {
    vendor,
    maxKilledAfterMs: 30,
    openPool(name) {
      const { prefix, ...pool } = openRestPool(t, { vendor, directory, pool: name });
      return {
        ...pool,
        // A volume's image has any nonce.
        ...openImages((kind, id) => join(directory, kind, `${prefix}${id}.*.img`)),
        mutable: 'label',
        readonly: true,
        leaseMs: 250,
      };
    },
    maxCommands: isFull ? 100 : 40,
    usualRuns: isFull ? 20 : 2,
  });
});
