import { readdir, readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { Problem } from '../../../src/api/problem.ts';
import type { CutSnapshot, NewSnapshot, Snapshots } from '../../backend.ts';
import { cutTogether, type Cut, type CutDrafts } from './cut.ts';
import { ensureDirectory, syncDirectory, toProblem } from './directory.ts';
import { moveIntoPlace } from './drafts.ts';
import { isId, look, lookAt, snapshotDirectory, snapshotIdOf, snapshotItem, volumeItem } from './paths.ts';
import type { Place } from './place.ts';
import { discard } from './trash.ts';

/** In a snapshot, a symbolic link that nothing follows: the volume's size at the cut, and when that was. */
const cutName = 'cut';

/** Snapshots of the volumes of a root: directories that hold a copy and what is known of it. */
export function createSnapshots(place: Place): Required<Snapshots> {
  const { root, sizes, drafts } = place;

  async function remove(id: string): Promise<void> {
    const item = snapshotItem(root, id);
    await drafts.removeFor(item);
    await discard(root, item);
    await sizes.remove(item.name);
  }

  function toCut({ id, volume, attachedForWriting }: NewSnapshot): Cut {
    const source = volumeItem(root, volume.id);
    const target = snapshotItem(root, id);
    const takeRoom = (heldBytes: number): Promise<void> => sizes.set(target.name, heldBytes);
    return { source, tree: source.path, target, attachedForWriting, readonly: true, takeRoom };
  }

  /** Each gets its record before its name. All or none, but what others published meanwhile stays. */
  async function publish(
    members: readonly NewSnapshot[],
    { drafts: made, cutAtMs }: CutDrafts,
  ): Promise<void> {
    const published: string[] = [];
    try {
      for (const [index, { id, volume }] of members.entries()) {
        const draft = made[index]?.path ?? '';
        await symlink(`${(await sizes.of(volume.id)) ?? volume.sizeBytes} ${cutAtMs}`, join(draft, cutName));
        await syncDirectory(draft);
        if (await moveIntoPlace(draft, snapshotItem(root, id))) published.push(id);
      }
    } catch (error) {
      for (const id of published) await remove(id);
      throw error;
    }
  }

  /** Removes what a failure left of these snapshots, and lets go of the room of those that are not there. */
  async function undo(ids: readonly string[]): Promise<void> {
    for (const item of ids.map(id => snapshotItem(root, id))) {
      await drafts.removeFor(item);
      if (!(await look(item.path))) await sizes.remove(item.name);
    }
  }

  async function createGroup(members: readonly NewSnapshot[]): Promise<readonly CutSnapshot[]> {
    const ids = members.map(({ id }) => id);
    const cuts = members.map(toCut);
    await ensureDirectory(snapshotDirectory(root), root);
    const found = await findCuts(root, ids);
    if (isWhole(found, ids)) {
      // It may have its name and not be durable yet.
      await syncDirectory(snapshotDirectory(root));
      return found;
    }
    // Members of an earlier try that did not end were cut at another time.
    if (found.length > 0) for (const id of ids) await remove(id);
    try {
      await publish(members, await cutTogether(cuts, place));
    } catch (error) {
      throw toProblem(error, `a copy of ${members.map(({ volume }) => `volume "${volume.id}"`).join(', ')}`);
    } finally {
      await undo(ids);
    }
    const made = await findCuts(root, ids);
    if (!isWhole(made, ids)) throw new Problem('UNAVAILABLE', 'a snapshot was removed while it was made');
    return made;
  }

  return {
    parameters: z.strictObject({}),
    createGroup,
    async create(snapshot) {
      const [cut] = await createGroup([snapshot]);
      if (!cut) throw new Error('no snapshot was made');
      return cut;
    },
    delete: ({ id }) => remove(id),
    async *list() {
      const directory = snapshotDirectory(root);
      const there = (await look(directory)) ? (await readdir(directory)).filter(isId) : [];
      const promised = (await sizes.names()).map(snapshotIdOf).filter(id => id !== undefined);
      yield* new Set([...there, ...promised]);
    },
  };
}

/** The size that a snapshot's volume had at the cut; undefined when the snapshot is not there. */
export async function sizeOfSnapshot(root: string, id: string): Promise<number | undefined> {
  return (await findCuts(root, [id]))[0]?.sizeBytes;
}

/** Where the copy lies in a snapshot is `treeName`; what is known of it is read here, of those that are on disk. */
async function findCuts(root: string, ids: readonly string[]): Promise<readonly CutSnapshot[]> {
  const cuts: CutSnapshot[] = [];
  for (const item of ids.map(id => snapshotItem(root, id))) {
    if (!(await lookAt(item))) continue;
    const text = await readlink(join(item.path, cutName));
    const [, sizeBytes, createdAtMs] = /^(\d{1,16}) (\d{1,16})$/.exec(text) ?? [];
    if (createdAtMs === undefined)
      throw new Problem('FAILED_PRECONDITION', `what lies at the place of ${item.what} is none`);
    cuts.push({ sizeBytes: Number(sizeBytes), createdAtMs: Number(createdAtMs), ready: true });
  }
  return cuts;
}

/** All are there, and they were cut at the same time. */
function isWhole(cuts: readonly CutSnapshot[], ids: readonly string[]): boolean {
  return cuts.length === ids.length && new Set(cuts.map(({ createdAtMs }) => createdAtMs)).size <= 1;
}
