import { missing } from '../commands.ts';
import { createSnapshotNotes, type Notes, type NoteStore, type SnapshotNotes } from '../notes.ts';
import { idOf, nameOf, type Filesystem, type Subvolume } from './filesystem.ts';

/** The content of a snapshot's note: its subvolume, the volume's size and the time of the snapshot. */
type SnapshotNote = {
  readonly subvolume: Subvolume;
  readonly sizeBytes: number;
  readonly createdAtMs: number;
};

type FilesystemName = Pick<Filesystem, 'name'>;

/** The prefix of a filesystem's notes among the monitors' configuration keys. */
function prefixOf({ name }: FilesystemName): string {
  return `fairlead.fs/${name}/`;
}

export function ownerKeyOf(filesystem: FilesystemName): string {
  return `${prefixOf(filesystem)}owner`;
}

/** The notes of a filesystem. One command reads all of them; as metadata of subvolumes they would need one each. */
export function notesOf(filesystem: Filesystem): NoteStore {
  const { ceph, askCeph } = filesystem;
  const prefix = prefixOf(filesystem);
  return {
    async read() {
      const all = (await askCeph<Readonly<Record<string, string>>>('config-key', 'dump', prefix)) ?? {};
      return new Map(Object.entries(all).map(([key, text]) => [key.slice(prefix.length), text]));
    },
    write: async (key, text) => void (await ceph(['config-key', 'set', prefix + key, text])),
    drop: async key => void (await ceph(['config-key', 'rm', prefix + key], { fine: [missing] })),
  };
}

export function snapshotNotesOf(filesystem: Filesystem): SnapshotNotes<SnapshotNote> {
  return createSnapshotNotes<SnapshotNote>(notesOf(filesystem), { prefix: 'snapshot/', nameOf, idOf });
}

/** The key of the mark of a subvolume whose volume is deleted and that remains only for its snapshots. */
function deletedKeyOf({ name }: Pick<Subvolume, 'name'>): string {
  return `deleted/${name}`;
}

export function isDeleted(notes: Notes, subvolume: Pick<Subvolume, 'name'>): boolean {
  return notes.has(deletedKeyOf(subvolume));
}

export function markDeleted(filesystem: Filesystem, subvolume: Subvolume): Promise<void> {
  return notesOf(filesystem).write(deletedKeyOf(subvolume), '');
}

export function unmarkDeleted(filesystem: Filesystem, subvolume: Subvolume): Promise<void> {
  return notesOf(filesystem).drop(deletedKeyOf(subvolume));
}
