import { createHash } from 'node:crypto';
import { byteLength, maxIdBytes, readNodeId, toNodeId } from '../../../src/api/ids.ts';
import type { VolumeRef } from '../../backend.ts';

const maxNodeIdBytes = 256;

/** A reference with a nonce, so that the storage's id follows from it. */
type NoncedRef = Required<VolumeRef>;

/** The ids of a pool's resources at its storage. */
export type Names = ReturnType<typeof createNames>;

/**
 * Creates the id of each resource, `<gateway>.<pool>.<id>.<nonce>`, with a long id cut short. The nonce gives each
 * record its own URL, so that a late request for a deleted record never meets a newer resource of the same id. The
 * storage has the whole id as the resource's `name`.
 */
export function createNames(gateway: string, pool: string) {
  const prefix = `${gateway}.${pool}.`;
  function idOf({ id, nonce }: NoncedRef): string {
    const maxLength = maxIdBytes - prefix.length - nonce.length - 1;
    return `${prefix}${id.slice(0, maxLength)}.${nonce}`;
  }
  return {
    idOf,
    nonceOf,
    isOurs: (vendorId: string): boolean => vendorId.startsWith(prefix),
    /**
     * True if the storage's id belongs to this id. The storage's `name` does not prove it, because people may change
     * it.
     */
    isOf: (vendorId: string, id: string): boolean =>
      id.length <= maxIdBytes && idOf({ id, nonce: nonceOf(vendorId) }) === vendorId,
    /** The node's id at the storage, unique over all clusters. The key in the node's id stays. */
    nodeIdOf(cluster: string, nodeId: string): string {
      const whole = `${cluster}.${nodeId}`;
      if (byteLength(whole) <= maxNodeIdBytes) return whole;
      const { name, ...key } = readNodeId(nodeId);
      const digest = createHash('sha256').update(name).digest('hex');
      return toNodeId({ name: `${cluster}.${digest}`, ...key });
    },
  };
}

function nonceOf(vendorId: string): string {
  return vendorId.slice(vendorId.lastIndexOf('.') + 1);
}
