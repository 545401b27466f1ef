import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { createCommands } from '../../../../gateway/backends/lvm/commands.ts';
import { openPool } from '../../../../gateway/backends/lvm/pool.ts';
import { createSnapshots } from '../../../../gateway/backends/lvm/snapshots.ts';
import { activate, createVolumes } from '../../../../gateway/backends/lvm/volumes.ts';
import { openLoop } from '../../../../gateway/exports/loop.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { contentOf, idsOf, type OfferedBackend } from '../../../suites/backend-fixtures.ts';
import { mortalChanges, testCrashes, testKills, type MortalPool } from '../../../suites/device-crashes.ts';
import { loadTarget } from '../../targets/configfs.ts';
import { kernelExports } from '../../targets/exported.ts';
import { lvm, makeThinPool, namesIn, type ThinPoolName } from '../../targets/thin-pool.ts';

const works: (() => unknown)[] = [];
let shared: ThinPoolName | undefined;
before(() => {
  loadTarget();
  shared = makeThinPool({ after: work => void works.push(work as () => unknown) });
});
after(async () => {
  for (const work of works) await work();
});

function poolOf(): ThinPoolName {
  return shared ?? assert.fail('there is no pool');
}

function assertEmpty(when = 'at the end'): void {
  const left = namesIn(poolOf()).filter(name => name !== 'fairlead.key.pool0');
  assert.deepEqual(left, [], when);
  const suspended = ['--noheadings', '--select', 'lv_suspended=suspended'];
  assert.equal(lvm('lvs', ...suspended, poolOf().group), '', when);
}

const mortal: MortalPool = {
  open(death) {
    const lockPath = join(process.env['TMPDIR'] ?? '/tmp', 'crashes.lock');
    const real = createCommands(poolOf(), lockPath);
    const { change, hasDied } = mortalChanges('lvm', real.change, death);
    const pool = openPool(poolOf(), { ...real, change });
    const backend = {
      ...createVolumes(pool, { exported: openLoop(), log: silentLog }),
      snapshots: createSnapshots(pool),
    } as unknown as OfferedBackend['backend'];
    const recover = async (): Promise<void> => {
      await pool.gates.resume();
      await pool.refresh((await pool.report()).volumes);
      // A killed command may have recorded a volume without activating it, which an attach does.
      await activate(
        pool,
        (await idsOf(backend)).map(id => ({ id })),
      );
    };
    return { backend, recover, hasDied };
  },
  content: contentOf(id => `/dev/${poolOf().group}/fairlead.volume.${id}`),
  assertEmpty,
};

testCrashes(mortal);
testKills(() => ({
  backend: 'lvm',
  settings: { ...poolOf(), export: kernelExports['nvme-tcp'] },
  assertEmpty,
}));
