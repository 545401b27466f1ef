import { suite } from 'node:test';
import type { VolumeSizes } from '../../../../gateway/backend.ts';
import { openMemory } from '../../../../gateway/backends/memory.ts';
import { testBackend } from '../../../suites/backend.ts';

function testMemory(sizes?: VolumeSizes): void {
  testBackend(async () => {
    const backend = openMemory({ capacity: 2 ** 40 });
    const sized = sizes ? { ...backend, sizes } : backend;
    return { backend: sized, content: backend, mutableParameters: { tier: 'fast' } };
  });
}

testMemory();

suite('a backend whose smallest volumes have 3 MiB', () =>
  testMemory({ minimumBytes: 3 * 2 ** 20, stepBytes: 2 ** 19, defaultBytes: 2 ** 30 }),
);
suite('a backend whose volumes have whole gibibytes', () =>
  testMemory({ minimumBytes: 2 ** 30, stepBytes: 2 ** 30, defaultBytes: 10 * 2 ** 30 }),
);
