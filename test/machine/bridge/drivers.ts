import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { toCsiCapability } from '../../../src/csi/request.ts';
import type { DriverVolume } from '../../../src/kit/existing.ts';
import { startGroupStorage } from '../../fakes/storages/bridged.ts';
import { clientOf } from '../../harness/csi-serving.ts';

/** The drivers that the kit tries the bridge with. */
export const drivers = [
  { title: 'a driver', flagsOf: async () => ({}) },
  {
    title: 'a driver that snapshots groups',
    flagsOf: async (t: TestContext, dir: string) => (await startGroupStorage(t, dir)).flags,
  },
];

/** Makes a function that makes a volume by the driver's socket. With the driver's `directory` the volume has random bytes. */
export function volumeMakerOf(
  t: TestContext,
  socket: string,
  directory?: string,
): () => Promise<DriverVolume> {
  const { controller } = clientOf(t, socket);
  const sizeBytes = 2 ** 20;
  let count = 0;
  return async () => {
    const name = `pvc-existing-${++count}`;
    const { volume } = await controller.CreateVolume({
      name,
      capacity_range: { required_bytes: sizeBytes },
      volume_capabilities: ['mount' as const, 'block' as const].map(accessType =>
        toCsiCapability({ accessType, accessMode: 'SINGLE_NODE_WRITER' }),
      ),
    });
    assert.ok(volume);
    const made = {
      driver: 'csi.fairlead.dev',
      handle: volume.volume_id,
      context: volume.volume_context,
      sizeBytes,
    };
    if (directory === undefined) return made;
    const [image] = globSync(join(directory, `**/*.${name}.img`));
    assert.ok(image, `there is no image of ${name} below ${directory}`);
    const bytes = randomBytes(sizeBytes);
    writeFileSync(image, bytes);
    return { ...made, sha256: createHash('sha256').update(bytes).digest('hex') };
  };
}
