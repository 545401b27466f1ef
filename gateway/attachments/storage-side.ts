import type { Reach } from '../../src/api/attachment.ts';
import type { NodeAccess } from '../backend.ts';
import type { Operation } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import {
  addAttachment,
  type AttachmentRecord,
  attachmentTable,
  removeAttachment,
} from '../tables/attachments.ts';
import { findAtStorage, type VolumeRecord } from '../tables/volumes.ts';
import { readAccess } from './record.ts';
import { noTurn } from './trim-turns.ts';
import { toKnownVolume, toVolumeRef } from '../volumes/record.ts';

type Settlement = {
  readonly volume: VolumeRecord;
  readonly found: AttachmentRecord | undefined;
  readonly access: NodeAccess | undefined;
  readonly isOurs: boolean;
};

/** Creates the calls to the storage, and the correction of late calls. */
export function createStorageSide(pools: ServiceOptions['pools']) {
  const attachIn = (volume: VolumeRecord, access: NodeAccess): Promise<Reach> =>
    pools.get(volume.pool).backend.attach(toKnownVolume(volume), access);
  const detachIn = (volume: VolumeRecord, { nodeId, cluster }: AttachmentRecord): Promise<void> =>
    pools.get(volume.pool).backend.detach(toVolumeRef(volume), nodeId, cluster);

  /**
   * Corrects a late call, which may have admitted or shut out the node: afterwards the storage admits the
   * node exactly if that is recorded. Another cluster may have the volume now; then its record counts.
   */
  function settle(lateVolume: VolumeRecord, late: AttachmentRecord): Operation<Settlement, void, void> {
    const { id, nonce } = lateVolume;
    return {
      operation: 'settle',
      subject: { nodeId: late.nodeId },
      about: late.nodeId,
      claims: [{ kind: 'volume', id }],
      pool: ({ volume }) => volume.pool,
      async intend(sql) {
        const volume = await findAtStorage(sql, toVolumeRef(lateVolume).id);
        if (volume?.nonce !== nonce) return { result: undefined };
        const found = await attachmentTable.find(sql, { ...late, volumeId: volume.id });
        const isOurs = volume.id === id && volume.state !== 'deleted';
        // Unfinished work is finished by its own operation.
        if (found && (!isOurs || found.state !== 'attached')) return { result: undefined };
        if (isOurs && found) await attachmentTable.update(sql, found, { state: 'attaching' });
        if (isOurs && !found) await addAttachment(sql, { ...late, ...noTurn, state: 'detaching' });
        const access = found && (await readAccess(sql, found, volume));
        return { intent: { volume, found, access, isOurs } };
      },
      async act({ volume, access }) {
        if (access) await attachIn(volume, access);
        else await detachIn(volume, late);
      },
      async succeed(sql, { intent: { found, isOurs } }) {
        if (found) await attachmentTable.replace(sql, found);
        else if (isOurs) await removeAttachment(sql, late);
      },
      // A sweep continues.
      fail: async () => {},
    };
  }

  return { attachIn, detachIn, settle };
}
