import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { createCommands } from '../../../../gateway/backends/zfs/commands.ts';
import { createDeletion } from '../../../../gateway/backends/zfs/deletion.ts';
import { openPool } from '../../../../gateway/backends/zfs/pool.ts';
import { createSnapshots } from '../../../../gateway/backends/zfs/snapshots.ts';
import { createVolumes } from '../../../../gateway/backends/zfs/volumes.ts';
import { openLoop } from '../../../../gateway/exports/loop.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { contentOf, type OfferedBackend } from '../../../suites/backend-fixtures.ts';
import { mortalChanges, testCrashes, testKills, type MortalPool } from '../../../suites/device-crashes.ts';
import { loadTarget } from '../../targets/configfs.ts';
import { loadZfs, makeDataset, namesIn, type DatasetName } from '../../targets/dataset.ts';
import { kernelExports } from '../../targets/exported.ts';

const works: (() => unknown)[] = [];
let shared: DatasetName | undefined;
before(() => {
  loadTarget();
  loadZfs();
  shared = makeDataset({ after: work => void works.push(work as () => unknown) });
});
after(async () => {
  for (const work of works) await work();
});

function poolOf(): DatasetName {
  return shared ?? assert.fail('there is no pool');
}

function assertEmpty(when = 'at the end'): void {
  const left = namesIn(poolOf()).filter(name => name !== 'fairlead.key');
  assert.deepEqual(left, [], when);
}

const mortal: MortalPool = {
  open(death) {
    const { dataset } = poolOf();
    const lockPath = join(process.env['TMPDIR'] ?? '/tmp', 'crashes.lock');
    const real = createCommands(dataset, lockPath);
    const { change, hasDied } = mortalChanges('zfs', real.change, death);
    const pool = openPool(dataset, { ...real, change });
    const deletion = createDeletion(pool, silentLog);
    const backend = {
      ...createVolumes(pool, deletion, { exported: openLoop(), log: silentLog }),
      snapshots: createSnapshots(pool, deletion),
    } as unknown as OfferedBackend['backend'];
    return { backend, recover: () => deletion.start(), hasDied };
  },
  content: contentOf(id => `/dev/zvol/${poolOf().dataset}/fairlead.volume.${id}`),
  assertEmpty,
};

testCrashes(mortal);
testKills(() => ({
  backend: 'zfs',
  settings: { ...poolOf(), export: kernelExports['nvme-tcp'] },
  assertEmpty,
}));
