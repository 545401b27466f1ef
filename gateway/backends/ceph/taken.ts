import { parseJson } from '../../../src/lib/json.ts';
import type { VolumeRef } from '../../backend.ts';
import { forgetClients, rememberClients } from './clients.ts';
import { missing } from './commands.ts';
import { reap } from './blocks.ts';
import { idOf, deletedOf, nameOf, namespaceOf, type Image, type RbdPool } from './pool.ts';

/** A snapshot, or what an unfinished try left of it: what RBD calls it, and of which image it is. */
export type Taken = { readonly name: string; readonly image: Image; readonly isWhole: boolean };

const prefix = 'snapshot.';

/** What is noted of a snapshot; without a nonce, of all that have the id. */
export async function findTaken(pool: RbdPool, ref: VolumeRef): Promise<readonly Taken[]> {
  const namespace = namespaceOf(ref.id, 'snapshot');
  const notes = await pool.readNotes(namespace);
  const names = ref.nonce ? [nameOf(ref)] : [...snapshotNames(notes)];
  return names.flatMap(name => {
    const text = notes.get(prefix + name);
    const isAsked = ref.nonce || idOf({ namespace, name }) === ref.id;
    return text !== undefined && isAsked ? [{ name, ...(parseJson(text) as Omit<Taken, 'name'>) }] : [];
  });
}

/** The ids of the snapshots of a namespace. */
export async function listTaken(pool: RbdPool, namespace: string): Promise<ReadonlySet<string>> {
  const names = [...snapshotNames(await pool.readNotes(namespace))];
  return new Set(names.map(name => idOf({ namespace, name })).filter(id => id !== undefined));
}

/** Notes a snapshot, before it is taken and when it is whole. */
export async function note(pool: RbdPool, ref: VolumeRef, taken: Omit<Taken, 'name'>): Promise<void> {
  const namespace = namespaceOf(ref.id, 'snapshot');
  await pool.writeNote({ namespace, key: prefix + nameOf(ref), text: JSON.stringify(taken) });
}

/**
 * Removes a snapshot, and its volume's image when that was deleted and nothing else needs it. Who has the image open is noted
 * first: `rbd snap rm` takes its lock.
 */
export async function drop(pool: RbdPool, ref: VolumeRef, { name, image }: Taken): Promise<void> {
  const remove = (one: Image) =>
    pool.rbd(['snap', 'rm', '--no-progress', `${pool.specOf(one)}@${name}`], { fine: [missing] });
  await rememberClients(pool, image);
  const { status } = await remove(image);
  // Its volume may have been deleted after that was noted.
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
