import { parseJson } from '../../../../src/lib/json.ts';
import type { VolumeRef } from '../../../backend.ts';
import { missing } from '../commands.ts';
import { idOf, nameOf, type Filesystem, type Subvolume } from './filesystem.ts';

/** A snapshot, finished or not: its name, its subvolume, the volume's size then, and the time when it was taken. */
export type Taken = {
  readonly name: string;
  readonly subvolume: Subvolume;
  readonly sizeBytes: number;
  readonly createdAtMs: number;
};

type Notes = ReadonlyMap<string, string>;

const [snapshotPrefix, deletedPrefix] = ['snapshot/', 'deleted/'] as const;

/** One line for each, beside the monitors' own settings, where no subvolume has to be asked one by one. */
function placeOf({ name }: Pick<Filesystem, 'name'>): string {
  return `fairlead.fs/${name}/`;
}

/** The key of what says whose the filesystem is. */
export function ownerKeyOf(filesystem: Pick<Filesystem, 'name'>): string {
  return `${placeOf(filesystem)}owner`;
}

/** All notes, by their keys. */
export async function readNotes(filesystem: Filesystem): Promise<Notes> {
  const place = placeOf(filesystem);
  const all = (await filesystem.askCeph<Readonly<Record<string, string>>>('config-key', 'dump', place)) ?? {};
  return new Map(Object.entries(all).map(([key, text]) => [key.slice(place.length), text]));
}

async function write(filesystem: Filesystem, key: string, text: string): Promise<void> {
  await filesystem.ceph(['config-key', 'set', placeOf(filesystem) + key, text]);
}

async function drop(filesystem: Filesystem, key: string): Promise<void> {
  await filesystem.ceph(['config-key', 'rm', placeOf(filesystem) + key], { fine: [missing] });
}

/** What is noted of a snapshot; without a nonce, of all that have the id. */
export function takenIn(notes: Notes, ref: VolumeRef): readonly Taken[] {
  const names = snapshotsIn(notes).filter(name => (ref.nonce ? name === nameOf(ref) : idOf(name) === ref.id));
  return names.map(name => parseJson(notes.get(snapshotPrefix + name) ?? '') as Taken);
}

/** The names of all snapshots. */
export function snapshotsIn(notes: Notes): readonly string[] {
  return [...notes.keys()].flatMap(key =>
    key.startsWith(snapshotPrefix) ? [key.slice(snapshotPrefix.length)] : [],
  );
}

/** Notes a snapshot, before it is taken. */
export async function noteTaken(filesystem: Filesystem, taken: Taken): Promise<void> {
  await write(filesystem, snapshotPrefix + taken.name, JSON.stringify(taken));
}

/** Drops the note of a snapshot that is gone. */
export async function forgetTaken(filesystem: Filesystem, { name }: Taken): Promise<void> {
  await drop(filesystem, snapshotPrefix + name);
}

/** True for a subvolume of which snapshots alone are wanted. */
export function isDeleted(notes: Notes, { name }: Pick<Subvolume, 'name'>): boolean {
  return notes.has(deletedPrefix + name);
}

/** Notes that snapshots alone are left of a subvolume, before its files go. */
export async function noteDeleted(filesystem: Filesystem, { name }: Subvolume): Promise<void> {
  await write(filesystem, deletedPrefix + name, '');
}

/** Drops that note. */
export async function forgetDeleted(filesystem: Filesystem, { name }: Subvolume): Promise<void> {
  await drop(filesystem, deletedPrefix + name);
}
