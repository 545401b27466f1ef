import { parseJson } from '../../../src/lib/json.ts';
import type { VolumeRef } from '../../backend.ts';
import { forgetClients, rememberClients } from './clients.ts';
import { missing } from './commands.ts';
import { reap } from './blocks.ts';
import { idOf, deletedOf, nameOf, namespaceOf, type Image, type RbdPool } from './pool.ts';

/** The note of a snapshot: its name in RBD, its image, and whether it is complete. */
export type SnapshotNote = { readonly name: string; readonly image: Image; readonly isWhole: boolean };

const prefix = 'snapshot.';

/** Finds a snapshot's notes: with a nonce at most one, otherwise all that have the id. */
export async function findSnapshotNotes(pool: RbdPool, ref: VolumeRef): Promise<readonly SnapshotNote[]> {
  const namespace = namespaceOf(ref.id, 'snapshot');
  const notes = await pool.readNotes(namespace);
  const names = ref.nonce ? [nameOf(ref)] : [...snapshotNames(notes)];
  return names.flatMap(name => {
    const text = notes.get(prefix + name);
    const isMatch = ref.nonce || idOf({ namespace, name }) === ref.id;
    return text !== undefined && isMatch
      ? [{ name, ...(parseJson(text) as Omit<SnapshotNote, 'name'>) }]
      : [];
  });
}

export async function listSnapshotIds(pool: RbdPool, namespace: string): Promise<ReadonlySet<string>> {
  const names = [...snapshotNames(await pool.readNotes(namespace))];
  return new Set(names.map(name => idOf({ namespace, name })).filter(id => id !== undefined));
}

/** Writes a snapshot's note, before the snapshot is taken and again when it is complete. */
export async function writeSnapshotNote(
  pool: RbdPool,
  ref: VolumeRef,
  entry: Omit<SnapshotNote, 'name'>,
): Promise<void> {
  const namespace = namespaceOf(ref.id, 'snapshot');
  await pool.writeNote({ namespace, key: prefix + nameOf(ref), text: JSON.stringify(entry) });
}

/**
 * Removes a snapshot, and its volume's image if the volume is deleted and nothing else needs the image. Records the
 * image's clients first, because `rbd snap rm` takes its lock.
 */
export async function drop(pool: RbdPool, ref: VolumeRef, { name, image }: SnapshotNote): Promise<void> {
  const remove = (one: Image) =>
    pool.rbd(['snap', 'rm', '--no-progress', `${pool.specOf(one)}@${name}`], { fine: [missing] });
  await rememberClients(pool, image);
  const { status } = await remove(image);
  // The volume may have been deleted after the clients were recorded.
  if (status === missing && !(await pool.inspect(image))) await forgetClients(pool, image);
  await remove(deletedOf(image));
  await reap(pool, deletedOf(image));
  await pool.dropNote({ namespace: namespaceOf(ref.id, 'snapshot'), key: prefix + name });
}

function snapshotNames(notes: ReadonlyMap<string, string>): Iterable<string> {
  return notes
    .keys()
    .filter(key => key.startsWith(prefix))
    .map(key => key.slice(prefix.length));
}
