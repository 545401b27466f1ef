import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Problem, type AttachmentResource, type VendorOperations } from 'fairlead/vendor';
import type { Ceph } from './ceph.ts';
import { openNbd } from './nbd.ts';
import type { Records } from './records.ts';
import { requireFree, requireReady, type Volume } from './volumes.ts';

/** A qemu-storage-daemon's QMP socket, and where its NBD server is reached. */
export type Server = { qmp: string; server: string; port: number };

/** A volume is exported for one node at a time, under a new name each time; its record says for which node. */
export function createAttachments(ceph: Ceph, records: Records, { qmp, server, port }: Server) {
  const nbd = openNbd(qmp);
  const findAttached = async (id: string) => (await records.find<Volume>(`v.${id}`))?.value.attached;

  async function serve(volumeId: string): Promise<void> {
    const { uuid, readonly = false } = (await findAttached(volumeId)) ?? {};
    const place = { pool: ceph.pool, namespace: `v.${volumeId}`, image: 'disk' };
    if (uuid) await nbd.serve({ uuid, readonly, ...place });
  }

  async function show(volumeId: string, nodeId: string): Promise<AttachmentResource> {
    const attached = await findAttached(volumeId);
    if (attached?.nodeId !== nodeId)
      throw new Problem('NOT_FOUND', `volume "${volumeId}" is not attached to node "${nodeId}"`);
    const { found, disk } = await requireReady(ceph, records, volumeId);
    const { uuid, capability, readonly } = attached;
    const mayFormat = !found.value.source && !found.value.isRaw && capability.accessType === 'mount';
    const reach = { protocol: 'nbd', server, port, export: uuid } as const;
    const attachment = { ...reach, attachmentId: uuid, sizeBytes: disk.size, readonly, mayFormat };
    return { volumeId, nodeId, state: 'attached', readonly, attachment };
  }

  return {
    async attachVolume({ volumeId, nodeId, body: { capability, readonly: isAsked } }) {
      const { found } = await requireReady(ceph, records, volumeId);
      const readonly = isAsked || capability.accessMode.endsWith('_READER_ONLY');
      const { attached: before, ...value } = found.value;
      if (before?.nodeId !== nodeId) requireFree(found.value);
      if (before && !isDeepStrictEqual([before.capability, before.readonly], [capability, readonly]))
        throw new Problem('ALREADY_EXISTS', `volume "${volumeId}" is attached in another way`);
      const isRaw = value.isRaw || (capability.accessType === 'block' && !readonly);
      const attached = { uuid: randomUUID(), nodeId, capability, readonly };
      if (!before) await records.replace<Volume>(`v.${volumeId}`, found, { ...value, isRaw, attached });
      await serve(volumeId);
      return [before ? 200 : 201, await show(volumeId, nodeId)];
    },

    getAttachment: async ({ volumeId, nodeId }) => [200, await show(volumeId, nodeId)],

    async detachVolume({ volumeId, nodeId }) {
      const found = await records.find<Volume>(`v.${volumeId}`);
      if (found?.value.attached?.nodeId !== nodeId) return [204];
      const { attached, ...value } = found.value;
      await nbd.withdraw(attached.uuid);
      await records.replace<Volume>(`v.${volumeId}`, found, value);
      return [204];
    },

    /** Exports what the records say: the storage daemon may have been started anew. */
    async resume(): Promise<void> {
      for (const volumeId of await records.ids('v.')) await serve(volumeId);
    },
  } satisfies VendorOperations & { resume: unknown };
}
