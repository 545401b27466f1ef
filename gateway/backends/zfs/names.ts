import { createHash } from 'node:crypto';
import type { Noun, PoolRecord } from '../../local/devices/finder.ts';
import { isId, requireId } from '../../local/files.ts';

/** The maximum length of a dataset's name together with a snapshot's, without the terminator. */
const maxName = 255;
const digits = 32;
/** The maximum length of the name of a volume within the dataset, and of a snapshot within its volume. */
const maxPart = 80;

/** The name of a dataset must leave room for `/VOLUME@SNAPSHOT`. */
export const maxDataset = maxName - 2 * maxPart - 2;

/** The volume with the pool's secret, and its property with the owner of the pool. */
export const [keyName, ownerProperty] = ['fairlead.key', 'fairlead:owner'] as const;

/** Names begin like this once nobody needs the volume or snapshot except others that share its blocks. */
const hiddenPrefix = 'fairlead.deleted.';

/**
 * The name of a volume in its dataset, or of a snapshot of its volume: the id, or its hash if the id is too long.
 * INVALID_ARGUMENT for an invalid id.
 */
export function nameOf(noun: Noun, id: string): string {
  return fit(`fairlead.${noun}.`, requireId(id, noun));
}

export function hiddenNameOf(guid: string): string {
  return hiddenPrefix + guid;
}

export function isHidden(name: string): boolean {
  return name.startsWith(hiddenPrefix);
}

function fit(prefix: string, id: string): string {
  if (prefix.length + id.length <= maxPart) return prefix + id;
  return prefix + createHash('sha256').update(id).digest('hex').slice(0, digits);
}

/**
 * Properties with the record of a volume or snapshot: its nonce, and its id. Snapshots that are taken together have one
 * value, with the ids of all. Children of a dataset inherit its properties, so a value counts only with the right name.
 */
export const recordProperties = { volume: 'fairlead:volume', snapshot: 'fairlead:snapshot' } as const;

/** Makes the options that give new volumes or snapshots their record. */
export function recordOptions(noun: Noun, nonce: string, ids: readonly string[]): readonly string[] {
  return ['-o', `${recordProperties[noun]}=${[nonce, ...ids].join(' ')}`];
}

/** Reads the record of the volume or snapshot with this name; undefined for one of somebody else. */
export function readRecord(noun: Noun, name: string, value: string): PoolRecord | undefined {
  const [nonce = '', ...ids] = value.split(' ');
  const id = ids.find(one => isId(one) && nameOf(noun, one) === name);
  return id === undefined ? undefined : { noun, id, nonce };
}
