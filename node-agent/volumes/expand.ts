import { Problem } from '../../src/api/problem.ts';
import type { SizeBounds } from '../../src/csi/request.ts';
import type { Agent } from './agent.ts';
import { locate, type PathOfVolume } from './locate.ts';

/** Which volume, at which of its paths, and the size that is asked for; 0 where nothing is. */
export type ExpandRequest = PathOfVolume & SizeBounds;

/**
 * Makes what the volume has gained usable, and returns its size in bytes. The size is observed: while the device is still
 * smaller than asked it is UNAVAILABLE. Run again it changes nothing.
 */
export async function expand(agent: Agent, request: ExpandRequest): Promise<number> {
  const { requiredBytes, limitBytes, volumeId } = request;
  const volume = await locate(agent, { ...request, isAlone: true });
  const sizeBytes = await volume.growDevice(requiredBytes);
  if (limitBytes > 0 && sizeBytes > limitBytes)
    throw new Problem(
      'OUT_OF_RANGE',
      `volume "${volumeId}" has ${sizeBytes} bytes, more than the limit of ${limitBytes}, and does not shrink`,
    );
  await volume.growFilesystem?.();
  return sizeBytes;
}
