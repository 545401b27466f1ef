import { parseJson } from '../../../src/lib/json.ts';
import type { VolumeRef } from '../../backend.ts';

/** Lines of text by key, stored in the cluster beside the data that they are about. */
export interface NoteStore {
  /** Reads all notes, by their keys. */
  read(): Promise<Notes>;
  write(key: string, text: string): Promise<void>;
  drop(key: string): Promise<void>;
}

export type Notes = ReadonlyMap<string, string>;

/** The prefix of the keys of snapshots' notes, and the names of snapshots; a name without id belongs to no snapshot. */
type Naming = {
  readonly prefix: string;
  nameOf(ref: VolumeRef): string;
  idOf(name: string): string | undefined;
};

export type SnapshotNotes<Content extends object> = ReturnType<typeof createSnapshotNotes<Content>>;

export function createSnapshotNotes<Content extends object>(
  store: NoteStore,
  { prefix, nameOf, idOf }: Naming,
) {
  const namesIn = (notes: Notes): readonly string[] =>
    [...notes.keys()].filter(key => key.startsWith(prefix)).map(key => key.slice(prefix.length));
  return {
    /** Finds a snapshot's notes: with a nonce at most one, otherwise all that have the id. */
    async find(ref: VolumeRef, notes?: Notes): Promise<readonly (Content & { readonly name: string })[]> {
      const all = notes ?? (await store.read());
      return namesIn(all)
        .filter(name => (ref.nonce ? name === nameOf(ref) : idOf(name) === ref.id))
        .map(name => Object.assign(parseJson(all.get(prefix + name) ?? '') as Content, { name }));
    },
    async ids(): Promise<ReadonlySet<string>> {
      return new Set(namesIn(await store.read()).flatMap(name => idOf(name) ?? []));
    },
    /** Writes a snapshot's note, before the snapshot is taken. */
    write: (ref: VolumeRef, content: Content): Promise<void> =>
      store.write(prefix + nameOf(ref), JSON.stringify({ name: nameOf(ref), ...content })),
    drop: ({ name }: { readonly name: string }): Promise<void> => store.drop(prefix + name),
  };
}
