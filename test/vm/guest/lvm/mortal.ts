// Opens a pool, and creates volumes and copies of them until it is killed: mortal.ts SETTINGS ROUND. Prints the id of
// each, once it is durable.

import { backends } from '../../../../gateway/backends/index.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { makeVolume, newSnapshot, takeSnapshot } from '../../../suites/backend-fixtures.ts';

const [text = '', round = ''] = process.argv.slice(2);
const settings = backends.lvm.settings.parse(JSON.parse(text));
const backend = await backends.lvm.open(settings, { name: 'pool', log: silentLog });
for (let count = 0; ; count++) {
  const id = `a.${round}-${count}`;
  const volume = await makeVolume(backend, { id });
  process.stdout.write(`${id}\n`);
  const snapshot = await takeSnapshot(backend, newSnapshot(`${id}-snapshot`, volume, true));
  process.stdout.write(`${snapshot.id}\n`);
  await makeVolume(backend, {
    id: `${id}-restored`,
    requiredBytes: 4 * volume.sizeBytes,
    source: { kind: 'snapshot', snapshot },
  });
  process.stdout.write(`${id}-restored\n`);
}
