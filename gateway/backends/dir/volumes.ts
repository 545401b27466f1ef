import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import type {
  CreatedVolume,
  ExpandedVolume,
  NewVolume,
  SizeBounds,
  VolumeRef,
  VolumeSizes,
  VolumeSource,
} from '../../backend.ts';
import { chooseSize } from '../files/sizes.ts';
import { cutTogether, type Cut } from './cut.ts';
import { makeDirectory, syncDirectory, toProblem } from './directory.ts';
import { moveIntoPlace } from './drafts.ts';
import { isId, look, lookAt, snapshotItem, volumeItem, type Item } from './paths.ts';
import type { Place } from './place.ts';
import { sizeOfSnapshot } from './snapshots.ts';
import { createSubvolume, treeName } from './subvolumes.ts';
import { discard } from './trash.ts';
import { requireUnmounted } from './use.ts';

/** The volumes of a root: one directory for each. Each operation is as `Backend` says of its own. */
export interface Volumes {
  create(volume: NewVolume): Promise<CreatedVolume>;
  expand(volume: VolumeRef, asked: SizeBounds): Promise<ExpandedVolume>;
  delete(volume: VolumeRef): Promise<void>;
  list(): AsyncIterable<string>;
}

/** For the gateway's user and group; who else may come in is for whoever mounts the volume to say. */
const mode = 0o770;

/** The sizes that volumes can have, where all together may have so many bytes. */
export function sizesOf(maximumBytes: number): Required<VolumeSizes> {
  return { minimumBytes: 2 ** 20, stepBytes: 2 ** 20, defaultBytes: 2 ** 30, maximumBytes };
}

/** The volumes of a root. */
export function createVolumes(place: Place): Volumes {
  const { root, sizes, drafts, subvolumes } = place;
  const bounds = sizesOf(sizes.totalBytes);

  async function makeEmpty(volume: NewVolume, { name, path }: Item): Promise<number> {
    const sizeBytes = chooseSize(volume, bounds);
    if (subvolumes) await createSubvolume(path);
    try {
      await makeDirectory(path, root, mode);
      await sizes.set(name, sizeBytes);
    } catch (error) {
      await rmdir(path).catch(() => {});
      throw error;
    }
    return sizeBytes;
  }

  /** One that is filled gets its size first and its name last: with both it is complete. */
  async function makeFilled(volume: NewVolume, target: Item, source: VolumeSource): Promise<number> {
    const { sourceBytes, ...from } = await findSource(place, source);
    const requiredBytes = Math.max(sourceBytes, volume.requiredBytes);
    const sizeBytes = chooseSize({ requiredBytes, limitBytes: volume.limitBytes }, bounds);
    await sizes.set(target.name, sizeBytes);
    // Its size is what it takes of the room, whatever it holds.
    const cut = { ...from, target, readonly: false, takeRoom: async () => {} };
    for (const draft of (await cutTogether([cut], place)).drafts) {
      if (!(await moveIntoPlace(join(draft.path, treeName), target)))
        throw new Problem('UNAVAILABLE', `${target.what} was made by another gateway meanwhile`);
    }
    await drafts.removeFor(target);
    return sizeBytes;
  }

  /** What holds something is for a retry to find, and what another process has made meanwhile is its own. */
  async function undo(item: Item): Promise<void> {
    await drafts.removeFor(item);
    if (!(await look(item.path))) await sizes.remove(item.name);
  }

  return {
    async create(volume) {
      const item = volumeItem(root, volume.id);
      const isThere = (await lookAt(item)) !== undefined;
      const known = await sizes.of(item.name);
      if (known !== undefined && isThere) {
        // It may have its name and not be durable yet.
        await syncDirectory(root);
        return { sizeBytes: requireWithin(known, volume) };
      }
      if (isThere) await removeEmpty(item);
      try {
        const { source } = volume;
        const made = source ? makeFilled(volume, item, source) : makeEmpty(volume, item);
        return { sizeBytes: await made };
      } catch (error) {
        await undo(item);
        throw toProblem(error, `the directory of ${item.what}`);
      }
    },

    async expand({ id }, asked) {
      const item = volumeItem(root, id);
      const known = await sizes.of(item.name);
      if (known === undefined || !(await lookAt(item)))
        throw new Problem('NOT_FOUND', `the directory of ${item.what} is not there`);
      if (asked.limitBytes > 0 && known > asked.limitBytes)
        throw new Problem('OUT_OF_RANGE', `${item.what} has ${known} bytes already, and never shrinks`);
      const sizeBytes = known < asked.requiredBytes ? chooseSize(asked, bounds) : known;
      try {
        await sizes.set(item.name, sizeBytes);
      } catch (error) {
        throw toProblem(error, `${item.what} larger`);
      }
      return { sizeBytes, nodeExpansionRequired: false };
    },

    async delete({ id }) {
      const item = volumeItem(root, id);
      await requireUnmounted(item);
      await drafts.removeFor(item);
      await discard(root, item);
      await sizes.remove(item.name);
    },

    async *list() {
      const directories = (await readdir(root, { withFileTypes: true })).filter(
        entry => entry.isDirectory() && isId(entry.name),
      );
      const promised = (await sizes.names()).filter(isId);
      yield* new Set([...directories.map(({ name }) => name), ...promised]);
    },
  };
}

type Found = Pick<Cut, 'source' | 'tree' | 'attachedForWriting'> & { readonly sourceBytes: number };

async function findSource({ root, sizes }: Place, source: VolumeSource): Promise<Found> {
  if (source.kind === 'snapshot') {
    const { id } = source.snapshot;
    const item = snapshotItem(root, id);
    const sourceBytes = await sizeOfSnapshot(root, id);
    if (sourceBytes === undefined) throw new Problem('NOT_FOUND', `${item.what} is not there`);
    return { source: item, tree: join(item.path, treeName), attachedForWriting: false, sourceBytes };
  }
  const { volume, attachedForWriting } = source;
  const item = volumeItem(root, volume.id);
  const sourceBytes = await sizes.of(item.name);
  if (sourceBytes === undefined) throw new Problem('NOT_FOUND', `${item.what} is not there`);
  return { source: item, tree: item.path, attachedForWriting, sourceBytes };
}

/** A directory without a size is what an unfinished create left, and nobody was told of it: it is empty. */
async function removeEmpty({ path, what }: Item): Promise<void> {
  if ((await readdir(path)).length > 0)
    throw new Problem('ALREADY_EXISTS', `a directory of ${what} is there already, and is not empty`);
  await rmdir(path);
}

function requireWithin(size: number, { id, requiredBytes, limitBytes }: NewVolume): number {
  if (size < requiredBytes || (limitBytes > 0 && size > limitBytes))
    throw new Problem('ALREADY_EXISTS', `volume "${id}" is there already, with ${size} bytes`);
  return size;
}
