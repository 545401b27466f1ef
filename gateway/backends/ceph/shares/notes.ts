import { parseJson } from '../../../../src/lib/json.ts';
import type { VolumeRef } from '../../../backend.ts';
import { missing } from '../commands.ts';
import { idOf, nameOf, type Filesystem, type Subvolume } from './filesystem.ts';

/** The note of a snapshot, finished or not: its name, its subvolume, the volume's size and the time of the snapshot. */
export type SnapshotNote = {
  readonly name: string;
  readonly subvolume: Subvolume;
  readonly sizeBytes: number;
  readonly createdAtMs: number;
};

type Notes = ReadonlyMap<string, string>;

const [snapshotPrefix, deletedPrefix] = ['snapshot/', 'deleted/'] as const;

/**
 * The prefix of a filesystem's notes among the monitors' configuration keys. There one command reads all of them;
 * subvolumes would need one each.
 */
function prefixOf({ name }: Pick<Filesystem, 'name'>): string {
  return `fairlead.fs/${name}/`;
}

export function ownerKeyOf(filesystem: Pick<Filesystem, 'name'>): string {
  return `${prefixOf(filesystem)}owner`;
}

export async function readNotes(filesystem: Filesystem): Promise<Notes> {
  const prefix = prefixOf(filesystem);
  const all =
    (await filesystem.askCeph<Readonly<Record<string, string>>>('config-key', 'dump', prefix)) ?? {};
  return new Map(Object.entries(all).map(([key, text]) => [key.slice(prefix.length), text]));
}

async function write(filesystem: Filesystem, key: string, text: string): Promise<void> {
  await filesystem.ceph(['config-key', 'set', prefixOf(filesystem) + key, text]);
}

async function drop(filesystem: Filesystem, key: string): Promise<void> {
  await filesystem.ceph(['config-key', 'rm', prefixOf(filesystem) + key], { fine: [missing] });
}

/** Finds a snapshot's notes: with a nonce at most one, otherwise all that have the id. */
export function findSnapshotNotes(notes: Notes, ref: VolumeRef): readonly SnapshotNote[] {
  const names = snapshotNames(notes).filter(name =>
    ref.nonce ? name === nameOf(ref) : idOf(name) === ref.id,
  );
  return names.map(name => parseJson(notes.get(snapshotPrefix + name) ?? '') as SnapshotNote);
}

export function snapshotNames(notes: Notes): readonly string[] {
  return [...notes.keys()].flatMap(key =>
    key.startsWith(snapshotPrefix) ? [key.slice(snapshotPrefix.length)] : [],
  );
}

/** Writes a snapshot's note, before the snapshot is taken. */
export async function writeSnapshotNote(filesystem: Filesystem, note: SnapshotNote): Promise<void> {
  await write(filesystem, snapshotPrefix + note.name, JSON.stringify(note));
}

/** Drops the note of a removed snapshot. */
export async function dropSnapshotNote(filesystem: Filesystem, { name }: SnapshotNote): Promise<void> {
  await drop(filesystem, snapshotPrefix + name);
}

/** True for a subvolume whose volume is deleted and that remains only for its snapshots. */
export function isDeleted(notes: Notes, { name }: Pick<Subvolume, 'name'>): boolean {
  return notes.has(deletedPrefix + name);
}

/** Marks a subvolume as deleted, before its files are removed. */
export async function markDeleted(filesystem: Filesystem, { name }: Subvolume): Promise<void> {
  await write(filesystem, deletedPrefix + name, '');
}

/** Drops the mark of `markDeleted`. */
export async function unmarkDeleted(filesystem: Filesystem, { name }: Subvolume): Promise<void> {
  await drop(filesystem, deletedPrefix + name);
}
