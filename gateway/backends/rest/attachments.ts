import { commonAttachmentFields, type Reach } from '../../../src/api/attachment.ts';
import { ioLimitNames } from '../../../src/api/attachments/io-limits.ts';
import { clusterOf } from '../../../src/api/ids.ts';
import type { AttachmentResource } from '../../../src/api/node.ts';
import { Problem, unavailableProblem } from '../../../src/api/problem.ts';
import type { Backend, KnownVolume, NodeAccess } from '../../backend.ts';
import type { Storage } from './storage.ts';

/**
 * Attaches volumes to nodes and detaches them. It reports a node to the storage when the storage does not know the
 * node.
 */
export function createAttachments(storage: Storage): Pick<Backend, 'attach' | 'detach' | 'forgetNode'> {
  const { vendor, names, has } = storage;
  return {
    async attach(volume, access) {
      const {
        nodeId: ownNodeId,
        cluster = clusterOf(volume.id) ?? '',
        capability,
        readonly,
        topology,
        addresses,
        name,
        providerId,
      } = access;
      const volumeId = await storage.requireId(volume);
      const nodeId = names.nodeIdOf(cluster, ownNodeId);
      const attach = () => vendor.ask('attachVolume', { volumeId, nodeId, body: { capability, readonly } });
      const found = await attach().catch(async (error: unknown) => {
        if (!has('nodes') || !mayConcernNode(error)) throw error;
        const details = {
          ...(addresses && { addresses: [...addresses] }),
          ...(name !== undefined && { name }),
          ...(providerId !== undefined && { providerId }),
        };
        // A storage of an earlier release refuses a report with details.
        const body = { ...(topology && { topology }), ...(has('node-details') && details) };
        await vendor.ask('putNode', { nodeId, body });
        return attach();
      });
      await requireWhole(found, volume, volumeId);
      return toReach(found, volume, access);
    },
    async detach(volume, ownNodeId, cluster = clusterOf(volume.id) ?? '') {
      const nodeId = names.nodeIdOf(cluster, ownNodeId);
      for (const volumeId of await storage.findIds(volume))
        await vendor.ask('detachVolume', { volumeId, nodeId });
    },
    ...(has('nodes') && {
      forgetNode: ({ cluster, nodeId }) =>
        vendor.ask('deleteNode', { nodeId: names.nodeIdOf(cluster, nodeId) }),
    }),
  };

  /**
   * UNAVAILABLE when the attached volume is too small. An attachment from before an expansion has the old size, so
   * the volume itself decides.
   */
  async function requireWhole({ attachment }: AttachmentResource, volume: KnownVolume, volumeId: string) {
    if (!attachment || attachment.sizeBytes >= volume.sizeBytes) return;
    const { sizeBytes } = await vendor.ask('getVolume', { volumeId });
    if (sizeBytes < volume.sizeBytes)
      throw unavailableProblem(
        `the storage attached volume "${volume.id}" with ${sizeBytes} of its ${volume.sizeBytes} bytes`,
      );
  }
}

function mayConcernNode(error: unknown): boolean {
  return error instanceof Problem && ['NOT_FOUND', 'FAILED_PRECONDITION'].includes(error.code);
}

/** The fields that the gateway sets itself. */
const ofGateway = new Set(Object.keys(commonAttachmentFields)).difference(new Set<string>(ioLimitNames));

/**
 * Takes from the storage's attachment the protocol's own fields and the facts that only the storage knows:
 * `mayFormat`, `mayReplay`, limits of I/O and sealed secrets. The gateway sets all other common fields itself.
 */
function toReach({ attachment }: AttachmentResource, volume: KnownVolume, { mayReplay }: NodeAccess): Reach {
  if (!attachment)
    throw unavailableProblem(`the storage attached volume "${volume.id}" but returned no attachment`);
  const own = Object.entries(attachment).filter(([key]) => !ofGateway.has(key));
  // The answer's schema has checked the protocol and its own fields.
  return {
    ...Object.fromEntries(own),
    ...(!attachment.mayFormat && { mayFormat: false }),
    ...(mayReplay && attachment.mayReplay && { mayReplay }),
    ...(attachment.sealed !== undefined && { sealed: attachment.sealed }),
  } as unknown as Reach;
}
