import { commonAttachmentFields, type Reach } from '../../../src/api/attachment.ts';
import { clusterOf } from '../../../src/api/ids.ts';
import type { AttachmentResource } from '../../../src/api/node.ts';
import { Problem, unavailableProblem } from '../../../src/api/problem.ts';
import { hasFeature } from '../../../src/api/storage.ts';
import type { Backend, KnownVolume } from '../../backend.ts';
import { findIds, requireId, type Storage } from './storage.ts';

/** What attaches volumes to nodes and detaches them. The storage is told of a node once it does not know it. */
export function createAttachments(storage: Storage): Pick<Backend, 'attach' | 'detach' | 'forgetNode'> {
  const { vendor, names, offer } = storage;
  return {
    async attach(volume, access) {
      const {
        nodeId: nearNodeId,
        cluster = clusterOf(volume.id) ?? '',
        capability,
        readonly,
        topology,
      } = access;
      const volumeId = await requireId(storage, volume);
      const nodeId = names.nodeIdOf(cluster, nearNodeId);
      const attach = () => vendor.ask('attachVolume', { volumeId, nodeId, body: { capability, readonly } });
      const found = await attach().catch(async (error: unknown) => {
        if (!hasFeature(offer, 'nodes') || !isOfNode(error)) throw error;
        await vendor.ask('putNode', { nodeId, body: topology ? { topology } : {} });
        return attach();
      });
      await requireWhole(found, volume, volumeId);
      return toReach(found, volume);
    },
    async detach(volume, nearNodeId, cluster = clusterOf(volume.id) ?? '') {
      const nodeId = names.nodeIdOf(cluster, nearNodeId);
      for (const volumeId of await findIds(storage, volume))
        await vendor.ask('detachVolume', { volumeId, nodeId });
    },
    ...(hasFeature(offer, 'nodes') && {
      forgetNode: ({ cluster, nodeId }) =>
        vendor.ask('deleteNode', { nodeId: names.nodeIdOf(cluster, nodeId) }),
    }),
  };

  /** What was attached before it grew is answered with the size that it had then. */
  async function requireWhole({ attachment }: AttachmentResource, volume: KnownVolume, volumeId: string) {
    if (!attachment || attachment.sizeBytes >= volume.sizeBytes) return;
    const { sizeBytes } = await vendor.ask('getVolume', { volumeId });
    if (sizeBytes < volume.sizeBytes)
      throw unavailableProblem(
        `the storage attached volume "${volume.id}" with ${sizeBytes} of its ${volume.sizeBytes} bytes`,
      );
  }
}

/** Codes of who does not know a node, or knows it elsewhere than it is. */
function isOfNode(error: unknown): boolean {
  return error instanceof Problem && ['NOT_FOUND', 'FAILED_PRECONDITION'].includes(error.code);
}

/** What the gateway adds to an attachment is the gateway's own, but for what the storage knows of the volume's content or sealed. */
function toReach({ attachment }: AttachmentResource, volume: KnownVolume): Reach {
  if (!attachment) throw unavailableProblem(`the storage attached volume "${volume.id}" without saying how`);
  const own = Object.entries(attachment).filter(([key]) => !Object.hasOwn(commonAttachmentFields, key));
  return {
    ...Object.fromEntries(own),
    ...(!attachment.mayFormat && { mayFormat: false }),
    ...(attachment.sealed !== undefined && { sealed: attachment.sealed }),
  } as unknown as Reach;
}
