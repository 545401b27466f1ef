import { createHash } from 'node:crypto';
import type { Noun, PoolRecord } from '../../local/devices/finder.ts';
import { isId, requireId } from '../../local/files.ts';

/** The end of the name of a gate's device. LVM names the layers of its volumes in the same way. */
const gateSuffix = '-gate';
/** The maximum length of a device's name in the kernel (DM_NAME_LEN), less this suffix. */
const maxDeviceName = 127 - gateSuffix.length;
const digits = 32;

/** A tag of the pool's volumes and snapshots. */
const nonceTag = 'fairlead.nonce=';

/** The time of a snapshot, in milliseconds since the epoch. */
export const timeTag = 'fairlead.time=';
/** A snapshot of a group whose other members may be of another instant. */
export const partTag = 'fairlead.part';
export const keyTag = 'fairlead.key';
export const ownerTag = 'fairlead.owner=';

/** The thin volume with the pool's secret; its tags have the owner of the pool. A group may have several pools. */
export function keyNameOf(thinPool: string): string {
  return `fairlead.key.${thinPool}`;
}

/** True for a group whose name leaves room for the names of its volumes. */
export function isFitGroup(group: string): boolean {
  return deviceOf(group, `fairlead.snapshot.${'0'.repeat(digits)}`).length <= maxDeviceName;
}

/**
 * The name of a volume in its group: the id, or its hash if LVM does not accept the id as a part of a name.
 * INVALID_ARGUMENT for an invalid id.
 */
export function nameOf(group: string, noun: Noun, id: string): string {
  const name = `fairlead.${noun}.${requireId(id, noun)}`;
  // LVM reserves names with parts such as _tdata for itself.
  const isFit = !id.includes('_') && deviceOf(group, name).length <= maxDeviceName;
  if (isFit) return name;
  return `fairlead.${noun}.${createHash('sha256').update(id).digest('hex').slice(0, digits)}`;
}

/** The name of a volume's device in the kernel. */
export function deviceOf(group: string, name: string): string {
  return `${group.replaceAll('-', '--')}-${name.replaceAll('-', '--')}`;
}

/** The name of the gate's device in the kernel. */
export function gateOf(group: string, name: string): string {
  return deviceOf(group, name) + gateSuffix;
}

export type Tags = readonly string[];

/** The options that give a new volume its tags. */
export function tagOptions(noun: Noun, ref: NewTags): readonly string[] {
  const { id, nonce, createdAtMs, isPart = false } = ref;
  return [
    idTagOf(noun, id),
    ...(nonce === '' ? [] : [nonceTag + nonce]),
    ...(createdAtMs === undefined ? [] : [`${timeTag}${createdAtMs}`]),
    ...(isPart ? [partTag] : []),
  ].flatMap(tag => ['--addtag', tag]);
}

type NewTags = {
  readonly id: string;
  readonly nonce: string;
  readonly createdAtMs?: number;
  readonly isPart?: boolean;
};

function idTagOf(noun: Noun, id: string): string {
  return `fairlead.${noun}=${id}`;
}

/** Reads the record in the tags of a volume with this name; undefined for a volume of somebody else. */
export function readRecord(group: string, name: string, tags: Tags): PoolRecord | undefined {
  const nonce = valueOf(tags, nonceTag) ?? '';
  return (['volume', 'snapshot'] as const)
    .map(noun => ({ noun, id: valueOf(tags, idTagOf(noun, '')) ?? '', nonce }))
    .find(({ noun, id }) => isId(id) && nameOf(group, noun, id) === name);
}

export function valueOf(tags: Tags, prefix: string): string | undefined {
  return tags.find(tag => tag.startsWith(prefix))?.slice(prefix.length);
}
