import { createHash, hkdfSync } from 'node:crypto';
import type { NodeAccess, VolumeRef } from '../../backend.ts';

/** The names of targets, identities of volumes and credentials of attachments of one pool, the same at each start. */
export type Names = ReturnType<typeof createNames>;

/**
 * Derives names from the pool's secret. A target's name has its pool, volume, node and attachment, each but the last
 * as a hash, so that the targets of a volume or a node are found by name alone.
 */
export function createNames(poolKey: Uint8Array) {
  const derive = (bytes: number, ...words: readonly string[]): Buffer =>
    Buffer.from(hkdfSync('sha256', poolKey, '', JSON.stringify(words), bytes));
  const pool = derive(4, 'pool').toString('hex');

  return {
    /** The part of a name that identifies this pool. */
    pool,
    /** The name of an attachment's target: at most 124 letters, digits, dashes and dots. */
    nameOf({ id, nonce = '' }: VolumeRef, { nodeId, cluster = '', attachmentId }: NodeAccess): string {
      const attachment = /^[a-z0-9-]{1,64}$/.test(attachmentId) ? attachmentId : hash('any', attachmentId);
      return [pool, hash('volume', id), hash('nonce', nonce), hash('node', cluster, nodeId), attachment].join(
        '.',
      );
    },
    isOfPool: (name: string): boolean => name.startsWith(`${pool}.`) && name.split('.').length === 5,
    isOfVolume,
    /** True for the target of any attachment of the volume to the node. */
    isOfNode: (name: string, volume: VolumeRef, { nodeId, cluster = '' }: Node): boolean =>
      isOfVolume(name, volume) && name.split('.')[3] === hash('node', cluster, nodeId),
    /** The volume's identity, the same over every target: 32 hexadecimal digits. */
    identityOf: ({ id, nonce = '' }: VolumeRef): string => derive(16, 'identity', id, nonce).toString('hex'),
    /** A UUID for each attachment, which is not secret. */
    hostIdOf: (name: string): string => toUuid(derive(16, 'host', name).toString('hex')),
    /** A secret of one attachment for one purpose. */
    secretOf: (name: string, purpose: string): Buffer => derive(32, 'secret', purpose, name),
  };
}

type Node = Pick<NodeAccess, 'nodeId' | 'cluster'>;

function isOfVolume(name: string, { id, nonce = '' }: VolumeRef): boolean {
  const [, volume, nonceHash] = name.split('.');
  return volume === hash('volume', id) && (nonce === '' || nonceHash === hash('nonce', nonce));
}

function hash(...words: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(words)).digest('hex').slice(0, 16);
}

/** Formats digits as a UUID with free content (version 8). */
export function toUuid(digits: string): string {
  const variant = ((Number.parseInt(digits.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  const fixed = `${digits.slice(0, 12)}8${digits.slice(13, 16)}${variant}${digits.slice(17)}`;
  return fixed.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
