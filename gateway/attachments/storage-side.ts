import type { Reach } from '../../src/api/attachment.ts';
import type { NodeAccess } from '../backend.ts';
import type { Operation } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { type AttachmentRecord, attachmentTable } from '../tables/attachments.ts';
import { findAtStorage, type VolumeRecord } from '../tables/volumes.ts';
import { toKnownVolume, toVolumeRef } from '../volumes/record.ts';

type Settling = { readonly volume: VolumeRecord; readonly found: AttachmentRecord | undefined };

/** What attaching does at the storage, and what puts right what was done there too late. */
export function createStorageSide(pools: ServiceOptions['pools']) {
  const attachIn = (volume: VolumeRecord, access: NodeAccess): Promise<Reach> =>
    pools.get(volume.pool).backend.attach(toKnownVolume(volume), access);
  const detachIn = (volume: VolumeRecord, { nodeId, cluster }: AttachmentRecord): Promise<void> =>
    pools.get(volume.pool).backend.detach(toVolumeRef(volume), nodeId, cluster);

  /**
   * What was done too late may have let the node in, or shut it out: it is let in if, and only if, that is recorded. Another
   * cluster may have the volume now, whose record says it.
   */
  function settle(begun: VolumeRecord, late: AttachmentRecord): Operation<Settling, void, void> {
    const { id, nonce } = begun;
    return {
      operation: 'settle',
      subject: { nodeId: late.nodeId },
      about: late.nodeId,
      claims: [{ kind: 'volume', id }],
      pool: ({ volume }) => volume.pool,
      async intend(sql) {
        const volume = await findAtStorage(sql, toVolumeRef(begun).id);
        if (volume?.nonce !== nonce) return { result: undefined };
        const found = await attachmentTable.find(sql, { ...late, volumeId: volume.id });
        const isOurs = volume.id === id && volume.state !== 'deleted';
        // What is begun is finished by others.
        if (found && (!isOurs || found.state !== 'attached')) return { result: undefined };
        if (isOurs)
          await attachmentTable.replace(sql, { ...late, ...found, state: found ? 'attaching' : 'detaching' });
        return { intent: { volume, found } };
      },
      async act({ volume, found }) {
        if (found) await attachIn(volume, found);
        else await detachIn(volume, late);
      },
      async succeed(sql, { intent: { found } }) {
        if (found) await attachmentTable.replace(sql, found);
        else await attachmentTable.remove(sql, late);
      },
      // A sweep goes on with it.
      fail: async () => {},
    };
  }

  return { attachIn, detachIn, settle };
}
