import type { ServiceOptions } from '../../operations/service-options.ts';
import { shortageOf } from '../../pools/room.ts';
import { expireOne, listLeaving, type VolumeRecord } from '../../tables/volumes.ts';
import { undoVolume } from '../delete.ts';

/** After this number of failed deletions a request gives up, so that a storage that fails costs no more volumes. */
const maxFailed = 3;

/**
 * Creates the function that reduces a shortage: it deletes the oldest soft-deleted volume for good. It returns false for
 * any other failure, and when the volumes that can be deleted do not leave enough room together.
 */
export function createRoomMaker({
  engine,
  pools,
  operations,
}: Pick<ServiceOptions, 'engine' | 'pools' | 'operations'>) {
  /** The volumes whose deletion failed. Others leave in their place. */
  const failed = new Set<string>();

  async function leave(volume: VolumeRecord): Promise<boolean> {
    const deletion = { ...undoVolume(pools, volume, ['deleting']), about: 'room for others' };
    try {
      await operations.run(deletion);
      return true;
    } catch {
      // A sweep tries it again, and logs the failure.
      failed.add(volume.id);
      return false;
    }
  }

  return async (failure: unknown): Promise<boolean> => {
    const shortage = shortageOf(failure);
    if (!shortage) return false;
    while (failed.size < maxFailed) {
      // One at a time: if its deletion fails, or room is found elsewhere, the next one stays.
      const first = await engine.transaction(async sql => {
        const [oldest] = await listLeaving(sql, shortage, failed);
        // Once this is recorded, a sweep finishes the deletion even if this gateway ends now.
        if (oldest) await expireOne(sql, oldest);
        return oldest;
      });
      if (!first) return false;
      if (await leave(first)) return true;
    }
    return false;
  };
}
