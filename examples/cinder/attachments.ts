import { isDeepStrictEqual } from 'node:util';
import {
  Problem,
  type AttachmentResource,
  type AttachmentSpec,
  type VendorOperations,
  type VolumeSpec,
} from 'fairlead/vendor';
import type { Cinder, CinderResource } from './cinder.ts';
import { gibibyte, specOf, type Named } from './names.ts';
import { hostOf, wayOf, type ConnectionInfo } from './reach.ts';
import { heldProblem, type AttachmentRecord, type NodeDetails, type Records } from './records.ts';

type CinderAttachment = {
  readonly id: string;
  readonly instance: string | null;
  readonly connection_info?: ConnectionInfo;
};

type AttachmentDocument = { readonly attachment: CinderAttachment };

/** The mark of a volume that a node may have written raw: no node formats it. */
const writtenKey = 'fairlead.written';

/** Creates the operations on attachments and nodes. Cinder attaches to a host by its initiator, without Nova. */
export function createAttachments(cinder: Cinder, records: Records, volumes: Named) {
  const find = (volumeId: string, nodeId: string): AttachmentRecord | undefined =>
    records.attachmentsOf(volumeId).find(one => one.nodeId === nodeId);

  /** Shows an attachment, with the way and the secrets that Cinder keeps for it. */
  async function show(record: AttachmentRecord): Promise<AttachmentResource> {
    const { volumeId, nodeId, readonly, made, isDone } = record;
    const found = made && isDone ? await cinder.send('GET', `/attachments/${made.id}`) : undefined;
    const info = (found as AttachmentDocument | undefined)?.attachment.connection_info;
    if (!made || !info)
      throw new Problem('NOT_FOUND', `volume "${volumeId}" is not attached to node "${nodeId}"`);
    const { id, identity, ...rest } = made;
    const reach = wayOf(info).toReach(info, hostOf(nodeId), identity ?? {});
    return {
      volumeId,
      nodeId,
      state: 'attached',
      readonly,
      attachment: { ...reach, ...rest, attachmentId: id, readonly },
    };
  }

  /**
   * Attaches in two steps: Cinder first only reserves the volume, so that a lost answer leaves an attachment without a
   * way, which the next attempt ends. Cinder would let only Nova end an attachment to an instance, so it names none.
   */
  async function attach(volume: CinderResource, record: AttachmentRecord, node: NodeDetails) {
    await forget(cinder, volume);
    const { spec, nodeId, readonly } = record;
    const isRaw = spec.capability.accessType === 'block';
    const holdsData = specOf<VolumeSpec>(volume).source !== undefined || writtenKey in volume.metadata;
    if (isRaw && !readonly)
      await cinder.send('POST', `/volumes/${volume.id}/metadata`, { metadata: { [writtenKey]: 'true' } });
    const reserved = await sendAttachment('POST', '/attachments', {
      volume_uuid: volume.id,
      mode: readonly ? 'ro' : 'rw',
    });
    const made = {
      id: reserved.id,
      sizeBytes: volume.size * gibibyte,
      mayFormat: !isRaw && !holdsData,
    };
    records.putAttachment({ ...record, made });
    const names = hostOf(nodeId);
    const { host, initiator, nqn } = names;
    const ip = node.addresses?.[0] ?? '127.0.0.1';
    const connector = { host, initiator, nqn, ip, multipath: true, os_type: 'linux', platform: 'x86_64' };
    const { connection_info: info } = await sendAttachment('PUT', `/attachments/${made.id}`, { connector });
    if (!info) throw new Problem('UNAVAILABLE', 'Cinder tells no way to the volume');
    const identity = await wayOf(info).identify(info, names);
    await cinder.send('POST', `/attachments/${made.id}/action`, { 'os-complete': {} });
    return records.putAttachment({ ...record, made: { ...made, identity }, isDone: true });
  }

  async function detach(volume: CinderResource | undefined, record: AttachmentRecord): Promise<void> {
    if (volume) await forget(cinder, volume);
    records.drop(record);
  }

  async function sendAttachment(method: string, path: string, attachment: object): Promise<CinderAttachment> {
    return ((await cinder.send(method, path, { attachment })) as AttachmentDocument).attachment;
  }

  return {
    async attachVolume({ volumeId, nodeId, body }) {
      const volume = await volumes.require(volumeId);
      const node = records.findNode(nodeId);
      if (!node) throw new Problem('NOT_FOUND', `there is no node "${nodeId}"`);
      const other = records.attachmentsOf(volumeId).find(one => one.nodeId !== nodeId);
      if (other) throw heldProblem(other);
      const found = find(volumeId, nodeId);
      if (found && !isDeepStrictEqual(found.spec, body))
        throw new Problem('ALREADY_EXISTS', `volume "${volumeId}" is attached differently`);
      if (found?.isDone) return [200, await show(found)];
      const readonly = isReadOnly(body);
      const record = found ?? records.putAttachment({ volumeId, nodeId, spec: body, readonly });
      try {
        return [201, await show(await attach(volume, record, node))];
      } catch (error) {
        // After a refusal nothing is under way, so the volume is free for other nodes.
        if (error instanceof Problem && error.code !== 'UNAVAILABLE') await detach(volume, record);
        throw error;
      }
    },

    async getAttachment({ volumeId, nodeId }) {
      const found = find(volumeId, nodeId);
      if (found) return [200, await show(found)];
      throw new Problem('NOT_FOUND', `volume "${volumeId}" is not attached to node "${nodeId}"`);
    },

    async detachVolume({ volumeId, nodeId }) {
      const record = find(volumeId, nodeId);
      if (!record) return [204];
      const volume = await volumes.find(volumeId);
      await detach(volume, record);
      return [204];
    },

    putNode({ nodeId, body }) {
      const isNew = !records.findNode(nodeId);
      records.putNode(nodeId, body);
      return [isNew ? 201 : 200, { ...body, id: nodeId }];
    },

    deleteNode({ nodeId }) {
      const [holder] = records.attachmentsTo(nodeId);
      if (holder) throw heldProblem(holder);
      records.dropNode(nodeId);
      return [204];
    },
  } satisfies VendorOperations;
}

/** Ends the volume's attachments at Cinder: the recorded one, and one whose answer was lost, but none of Nova's. */
async function forget(cinder: Cinder, { id: volumeId }: CinderResource): Promise<void> {
  const answer = await cinder.send('GET', `/attachments/detail?volume_id=${volumeId}`);
  const { attachments } = answer as { readonly attachments: readonly CinderAttachment[] };
  for (const { id, instance } of attachments)
    if (!instance) await cinder.send('DELETE', `/attachments/${id}`);
}

function isReadOnly({ readonly, capability }: AttachmentSpec): boolean {
  return readonly || capability.accessMode.endsWith('READER_ONLY');
}
