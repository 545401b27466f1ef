import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Problem } from '../vendor-hono/problem.ts';
import type { Answer } from '../vendor-hono/vendor.ts';
import type { Ceph } from './ceph.ts';
import { openNbd } from './nbd.ts';
import type { Records } from './records.ts';
import { requireOffered, requireReady, type Access, type Volume } from './volumes.ts';

type Asked = { volumeId: string; nodeId: string; body: Access };
/** A qemu-storage-daemon's QMP socket, and where its NBD server is reached. */
export type Server = { qmp: string; server: string; port: number };

/** A volume is exported for one node at a time, under a new name each time; its record says for which node. */
export function createAttachments(ceph: Ceph, records: Records, { qmp, server, port }: Server) {
  const nbd = openNbd(qmp);
  const findAttached = async (id: string) => (await records.find<Volume>(`v.${id}`))?.value.attached;

  async function serve(volumeId: string): Promise<void> {
    const { uuid, readonly } = (await findAttached(volumeId)) ?? {};
    const place = { pool: ceph.pool, namespace: `v.${volumeId}`, image: 'disk' };
    if (uuid) await nbd.serve({ uuid, readonly: readonly === true, ...place });
  }

  async function show({ volumeId, nodeId }: Asked, status: 200 | 201 = 200): Promise<Answer> {
    const attached = await findAttached(volumeId);
    if (!attached || attached.nodeId !== nodeId)
      throw new Problem('NOT_FOUND', `volume "${volumeId}" is not attached to node "${nodeId}"`);
    const { found, disk } = await requireReady(ceph, records, volumeId);
    const { uuid, capability, readonly } = attached;
    const mayFormat = !found.value.source && !found.value.isRaw && capability.accessType === 'mount';
    const common = { attachmentId: uuid, sizeBytes: disk.size, readonly, mayFormat };
    const attachment = { protocol: 'nbd', server, port, export: uuid, ...common };
    return [status, { volumeId, nodeId, state: 'attached', readonly, attachment }];
  }

  return {
    async attachVolume(asked: Asked): Promise<Answer> {
      const { volumeId, nodeId, body } = asked;
      const { capability } = body;
      requireOffered(capability);
      const { found } = await requireReady(ceph, records, volumeId);
      const readonly = body.readonly || capability.accessMode.endsWith('_READER_ONLY');
      const { attached: before, ...value } = found.value;
      if (before && before.nodeId !== nodeId)
        throw new Problem('FAILED_PRECONDITION', `the volume is attached to node "${before.nodeId}"`);
      if (before && !isDeepStrictEqual([before.capability, before.readonly], [capability, readonly]))
        throw new Problem('ALREADY_EXISTS', `volume "${volumeId}" is attached in another way`);
      const isRaw = value.isRaw || (capability.accessType === 'block' && !readonly);
      const attached = { uuid: randomUUID(), nodeId, capability, readonly };
      if (!before) await records.replace<Volume>(`v.${volumeId}`, found, { ...value, isRaw, attached });
      await serve(volumeId);
      return show(asked, before ? 200 : 201);
    },

    getAttachment: (asked: Asked) => show(asked),

    async detachVolume({ volumeId, nodeId }: Asked): Promise<Answer> {
      const found = await records.find<Volume>(`v.${volumeId}`);
      const { attached, ...value } = found?.value ?? ({} as Volume);
      if (!found || attached?.nodeId !== nodeId) return [204];
      await nbd.withdraw(attached.uuid);
      await records.replace<Volume>(`v.${volumeId}`, found, value);
      return [204];
    },

    /** Exports what the records say: the storage daemon may have been started anew. */
    async resume(): Promise<void> {
      for (const volumeId of await records.ids('v.')) await serve(volumeId);
    },
  };
}
