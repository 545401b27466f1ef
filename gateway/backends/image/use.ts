import { stat } from 'node:fs/promises';
import type { Reach } from '../../../src/api/attachment.ts';
import { Problem } from '../../../src/api/problem.ts';
import type { KnownVolume, VolumeRef } from '../../backend.ts';
import { loopDevicesOf } from './loop-devices.ts';
import { imagePath } from './paths.ts';
import { ignoreMissing } from './problems.ts';

/** How a node reaches the image; FAILED_PRECONDITION when it is missing or smaller than the volume. */
export async function reachImage(root: string, { id, sizeBytes }: KnownVolume): Promise<Reach> {
  const path = imagePath(root, id);
  const found = await stat(path).catch(ignoreMissing);
  // An image may have grown without that being recorded yet.
  if (!found || found.size < sizeBytes)
    throw new Problem(
      'FAILED_PRECONDITION',
      `the image of volume "${id}" is missing or smaller than the volume`,
    );
  return { protocol: 'loop', path };
}

/** Observed, not remembered: while a loop device has the image open, a node can read and write it. */
export function requireUnused(root: string, { id }: VolumeRef): void {
  const devices = loopDevicesOf(imagePath(root, id));
  if (devices.length > 0)
    throw new Problem(
      'FAILED_PRECONDITION',
      `volume "${id}" is still in use by /dev/${devices.join(', /dev/')}`,
    );
}
