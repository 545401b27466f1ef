import { backends } from '../../../../gateway/backends/index.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { makeVolume } from '../../../suites/backend-fixtures.ts';

// Opens the pool in a directory, its first argument, and makes the volume with the id in its second.
const [, , dir = '', id = ''] = process.argv;
const backend = await backends.dir.open(backends.dir.settings.parse({ dir }), {
  name: 'pool',
  log: silentLog,
});
await makeVolume(backend, { id });
await backend.close?.();
