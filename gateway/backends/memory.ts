import { z } from 'zod';
import { Problem } from '../../src/api/problem.ts';
import { accessModes, accessTypes } from '../../src/api/resources.ts';
import { bytes } from '../../src/lib/parsers.ts';
import type { SettingsOf } from '../../src/lib/settings.ts';
import type { Backend, BackendPlugin } from '../backend.ts';
import { chooseSize } from '../sizes.ts';

const settings = {
  'memory-capacity': {
    doc: 'bytes that all volumes together may have',
    parse: bytes,
    default: '1Ti',
  },
} as const;

/** Volumes that are only counted, and gone with the process: for tests and for a first look at the API. */
export const memory: BackendPlugin<typeof settings> = {
  settings,
  open: async values => openMemory(values),
};

function openMemory({ 'memory-capacity': totalBytes }: SettingsOf<typeof settings>): Backend {
  const volumes = new Map<string, number>();
  const available = (): number => [...volumes.values()].reduce((left, size) => left - size, totalBytes);
  const bounds = { minimumBytes: 1, defaultBytes: 2 ** 30, stepBytes: 1, maximumBytes: totalBytes };
  return {
    name: 'memory',
    accessModes,
    accessTypes,
    parameters: z.strictObject({}),
    async create({ id, ...asked }) {
      const sizeBytes = volumes.get(id) ?? chooseSize(asked, bounds);
      if (!volumes.has(id) && sizeBytes > available())
        throw new Problem(
          'RESOURCE_EXHAUSTED',
          `${sizeBytes} bytes do not fit into the ${available()} that are left`,
        );
      volumes.set(id, sizeBytes);
      return { sizeBytes };
    },
    async delete({ id }) {
      volumes.delete(id);
    },
    async attach({ id }) {
      return { protocol: 'loop', path: `/dev/shm/${id}.img` };
    },
    detach: async () => {},
    capacity: async () => ({
      availableBytes: available(),
      minimumVolumeBytes: bounds.minimumBytes,
      maximumVolumeBytes: available(),
    }),
    async *list() {
      yield* volumes.keys();
    },
  };
}
