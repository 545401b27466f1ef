import { isDeepStrictEqual } from 'node:util';
import { Problem, type AttachmentSpec, type VendorOperations, type VolumeSpec } from 'fairlead/vendor';
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
  async function show({ volumeId, nodeId, readonly, made, isDone }: AttachmentRecord) {
    const found = made && isDone ? await cinder.send('GET', `/attachments/${made.id}`) : undefined;
    const info = (found as AttachmentDocument | undefined)?.attachment.connection_info;
    if (!made || !info) throw missingProblem(volumeId, nodeId);
    const { id: attachmentId, identity = {}, ...rest } = made;
    const reach = wayOf(info).toReach(info, hostOf(nodeId), identity);
    const attachment = { ...reach, ...rest, attachmentId, readonly };
    return { volumeId, nodeId, state: 'attached' as const, readonly, attachment };
  }

  /**
   * Attaches in two steps: Cinder first only reserves the volume, so that a lost answer leaves an attachment without a
   * way, which the next attempt ends. Cinder would let only Nova end an attachment to an instance, so it names none.
   */
  async function attach(volume: CinderResource, record: AttachmentRecord, node: NodeDetails) {
    await forget(volume, record);
    const { spec, nodeId, readonly } = record;
    const isRaw = spec.capability.accessType === 'block';
    const holdsData = specOf<VolumeSpec>(volume).source !== undefined || writtenKey in volume.metadata;
    if (isRaw && !readonly)
      await cinder.send('POST', `/volumes/${volume.id}/metadata`, { metadata: { [writtenKey]: 'true' } });
    const mode = readonly ? 'ro' : 'rw';
    const { id } = await sendAttachment('POST', '/attachments', { volume_uuid: volume.id, mode });
    const made = { id, sizeBytes: volume.size * gibibyte, mayFormat: !isRaw && !holdsData };
    records.putAttachment({ ...record, made });
    const names = hostOf(nodeId);
    const { host, initiator, nqn } = names;
    const ip = node.addresses?.[0] ?? '127.0.0.1';
    const connector = { host, initiator, nqn, ip, multipath: true, os_type: 'linux', platform: 'x86_64' };
    const { connection_info: info } = await sendAttachment('PUT', `/attachments/${id}`, { connector });
    if (!info) throw new Problem('UNAVAILABLE', 'Cinder tells no way to the volume');
    const identity = await wayOf(info).identify(info, names);
    await cinder.send('POST', `/attachments/${id}/action`, { 'os-complete': {} });
    return records.putAttachment({ ...record, made: { ...made, identity }, isDone: true });
  }

  async function detach(volume: CinderResource | undefined, record: AttachmentRecord): Promise<void> {
    if (volume) await forget(volume, record);
    records.drop(record);
  }

  /** Ends the node's attachment at Cinder, and one whose answer was lost, but none of Nova's and of other nodes. */
  async function forget(volume: CinderResource, { volumeId, nodeId }: AttachmentRecord): Promise<void> {
    const others = records.attachmentsOf(volumeId).filter(one => one.nodeId !== nodeId);
    const kept = new Set(others.map(({ made }) => made?.id));
    const answer = await cinder.send('GET', `/attachments/detail?volume_id=${volume.id}`);
    const { attachments } = answer as { readonly attachments: readonly CinderAttachment[] };
    for (const { id, instance } of attachments)
      if (!instance && !kept.has(id)) await cinder.send('DELETE', `/attachments/${id}`);
  }

  async function sendAttachment(method: string, path: string, attachment: object): Promise<CinderAttachment> {
    return ((await cinder.send(method, path, { attachment })) as AttachmentDocument).attachment;
  }

  return {
    async attachVolume({ volumeId, nodeId, body }) {
      const volume = await volumes.require(volumeId);
      const node = records.findNode(nodeId);
      if (!node) throw new Problem('NOT_FOUND', `there is no node "${nodeId}"`);
      const others = records.attachmentsOf(volumeId).filter(one => one.nodeId !== nodeId);
      const other = others.find(one => !canShare(volume, one, body));
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
      if (!found) throw missingProblem(volumeId, nodeId);
      return [200, await show(found)];
    },

    async detachVolume({ volumeId, nodeId }) {
      const record = find(volumeId, nodeId);
      if (record) await detach(await volumes.find(volumeId), record);
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

/** Nodes share a volume of a type with `multiattach`, if their modes allow it: all of them write, or at most one does. */
function canShare(volume: CinderResource, one: AttachmentRecord, spec: AttachmentSpec): boolean {
  const modes = [one.spec, spec].map(({ capability }) => capability.accessMode);
  const isShared = modes.every(mode => mode.startsWith('MULTI_NODE_')) && volume.multiattach === true;
  const mayWrite = modes.every(mode => mode === 'MULTI_NODE_MULTI_WRITER');
  return isShared && (mayWrite || one.readonly || isReadOnly(spec));
}

function missingProblem(volumeId: string, nodeId: string): Problem {
  return new Problem('NOT_FOUND', `volume "${volumeId}" is not attached to node "${nodeId}"`);
}

function isReadOnly({ readonly, capability }: AttachmentSpec): boolean {
  return readonly || capability.accessMode.endsWith('READER_ONLY');
}
