import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Problem, type AttachmentResource, type VendorOperations } from 'fairlead/vendor';
import { volumeNamed, type Disk } from './disk.ts';
import { requireFree } from './volumes.ts';

/** Creates the operations on attachments. One node at a time has a volume, and opens its file through a loop device. */
export function createAttachments(disk: Disk) {
  return {
    attachVolume({ volumeId, nodeId, body }) {
      const volume = disk.require(volumeNamed(volumeId));
      const { attached, sizeBytes, holdsData } = volume;
      if (attached?.resource.nodeId !== nodeId) requireFree(attached?.resource.nodeId);
      if (attached && isDeepStrictEqual(attached.spec, body)) return [200, attached.resource];
      if (attached) throw new Problem('ALREADY_EXISTS', `volume "${volumeId}" is attached differently`);
      const readonly = body.readonly || body.capability.accessMode.endsWith('READER_ONLY');
      const isRaw = body.capability.accessType === 'block';
      const reach = { protocol: 'loop', path: disk.pathOf(volume), attachmentId: randomUUID() } as const;
      const attachment = { ...reach, sizeBytes, readonly, mayFormat: !isRaw && !holdsData };
      const resource: AttachmentResource = { volumeId, nodeId, state: 'attached', readonly, attachment };
      const isWritten = isRaw && !readonly;
      disk.put({ ...volume, holdsData: holdsData || isWritten, attached: { spec: body, resource } });
      return [201, resource];
    },

    getAttachment({ volumeId, nodeId }) {
      const attached = disk.find(volumeNamed(volumeId))?.attached;
      if (attached?.resource.nodeId === nodeId) return [200, attached.resource];
      throw new Problem('NOT_FOUND', `volume "${volumeId}" is not attached to node "${nodeId}"`);
    },

    /** Detaches a volume. Refuses while a loop device has the file open, because the node could still write. */
    detachVolume({ volumeId, nodeId }) {
      const volume = disk.find(volumeNamed(volumeId));
      if (volume?.attached?.resource.nodeId !== nodeId) return [204];
      if (isOpen(disk.pathOf(volume)))
        throw new Problem('FAILED_PRECONDITION', `volume "${volumeId}" is still open on node "${nodeId}"`);
      disk.put({ ...volume, attached: undefined });
      return [204];
    },
  } satisfies VendorOperations;
}

/** True while a loop device of this machine has the file open. */
function isOpen(path: string): boolean {
  return execFileSync('losetup', ['--associated', path]).length > 0;
}
