// Opens a pool, and creates volumes and copies of them, and deletes some, until it is killed: mortal-gateway.ts BACKEND
// SETTINGS ROUND. Prints the id of each, once it is durable.

import type { BackendPlugin } from '../../gateway/backend.ts';
import { backends } from '../../gateway/backends/index.ts';
import { silentLog } from '../../src/lib/log.ts';
import { makeVolume, newSnapshot, takeSnapshot } from './backend-fixtures.ts';

const [name = '', text = '', round = ''] = process.argv.slice(2);
const plugin = backends[name as keyof typeof backends] as BackendPlugin;
const settings = plugin.settings.parse(JSON.parse(text));
const backend = await plugin.open(settings, { name: 'pool', log: silentLog });
for (let count = 0; ; count++) {
  const id = `a.${round}-${count}`;
  const deleted = await makeVolume(backend, { id: `${id}-deleted` });
  await makeVolume(backend, {
    id,
    source: { kind: 'volume', volume: deleted, attachedForWriting: true },
  });
  process.stdout.write(`${id}\n`);
  const snapshot = await takeSnapshot(backend, newSnapshot(`${id}-snapshot`, deleted, true));
  process.stdout.write(`${snapshot.id}\n`);
  await makeVolume(backend, {
    id: `${id}-restored`,
    requiredBytes: 4 * deleted.sizeBytes,
    source: { kind: 'snapshot', snapshot },
  });
  process.stdout.write(`${id}-restored\n`);
  await backend.delete(deleted);
}
