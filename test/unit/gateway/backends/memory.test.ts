import { backends } from '../../../../gateway/backends/index.ts';
import { openMemory } from '../../../../gateway/backends/memory.ts';
import { testBackend } from '../../../suites/backend.ts';
import { testBackendMembers } from '../../../suites/backend-members.ts';
import { openPlugin } from '../../../harness/open-plugin.ts';

const roomBytes = 4 * 2 ** 30;

testBackend(() => openPlugin(backends.memory, {}));

testBackendMembers(async () => {
  const backend = openMemory({ capacity: roomBytes });
  return { backend, content: backend, mutableParameters: { tier: 'fast' } };
});
