import { openMemory } from '../../../../gateway/backends/memory.ts';
import { testBackend } from '../../../suites/backend.ts';

testBackend(async () => {
  const backend = openMemory({ capacity: 4 * 2 ** 30 });
  return { backend, content: backend, mutableParameters: { tier: 'fast' } };
});
