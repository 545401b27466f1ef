import { preconditionProblem } from '../../../src/api/problem.ts';
import { loopDevicesOf } from '../../local/loop-devices.ts';
import type { VolumeRef } from '../../backend.ts';
import type { ImagePool } from './pool.ts';

/** FAILED_PRECONDITION while a device or an export can read or write the image, as observed on this machine. */
export async function requireUnused({ images, exported }: ImagePool, volume: VolumeRef): Promise<void> {
  const path = images.pathOf(volume.id);
  const devices = await loopDevicesOf(path);
  const users = [
    ...devices.map(name => `/dev/${name}`),
    ...((await exported.users?.({ ...volume, path })) ?? []),
  ];
  if (users.length > 0)
    throw preconditionProblem(`volume "${volume.id}" is still in use by ${users.join(', ')}`);
}
