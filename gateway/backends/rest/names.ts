import { createHash } from 'node:crypto';
import { byteLength, maxIdBytes, readNodeId, toNodeId } from '../../../src/api/ids.ts';
import type { VolumeRef } from '../../backend.ts';

const maxNodeIdBytes = 256;

/** What has a nonce, so that its name at the storage is known. */
export type Named = Required<VolumeRef>;

/** How resources of a pool are named at its storage. */
export type Names = ReturnType<typeof createNames>;

/**
 * Names each resource `<gateway>.<pool>.<id>.<nonce>`, where a long id is cut: what a gateway asks too late, for a record
 * that is gone, is of another URL than the next of the same id. The caller's whole id is its `name` there.
 */
export function createNames(gateway: string, pool: string) {
  const prefix = `${gateway}.${pool}.`;
  function idOf({ id, nonce }: Named): string {
    const most = maxIdBytes - prefix.length - nonce.length - 1;
    return `${prefix}${id.slice(0, most)}.${nonce}`;
  }
  return {
    idOf,
    nonceOf,
    isOurs: (vendorId: string): boolean => vendorId.startsWith(prefix),
    /** True for what has this id here. Its `name` there alone does not say so: people may change that. */
    isOf: (vendorId: string, id: string): boolean => idOf({ id, nonce: nonceOf(vendorId) }) === vendorId,
    /** Nodes of two clusters may have the same id; a key in it stays. */
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
