import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { lockPool } from '../../../gateway/local/devices/command-lock.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { noRoot } from '../../harness/machine.ts';

test(
  'a pool that is still open elsewhere is UNAVAILABLE, so that it waits, and is free afterwards',
  { skip: noRoot },
  async t => {
    const name = `test/${crypto.randomUUID()}`;
    t.after(() => rmSync(`/run/fairlead/${name}`, { recursive: true }));
    const options = { what: 'the dataset', commands: 'ZFS', log: silentLog };
    const { release, lockPath } = await lockPool(name, options);
    assert.ok(existsSync(lockPath));
    await assert.rejects(lockPool(name, options), {
      code: 'UNAVAILABLE',
      message: /is in use by a live process/,
    });
    release();
    (await lockPool(name, options)).release();
  },
);
