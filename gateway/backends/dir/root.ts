import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, rename, rmdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { preconditionProblem } from '../../../src/api/problem.ts';
import { exec } from '../../../src/lib/exec.ts';
import { isAtOrBelow, mountsBelow, originOf, parseMountinfo } from '../../../src/lib/linux/mountinfo.ts';
import type { VolumeRef } from '../../backend.ts';
import {
  commandProblem,
  guardDirectory,
  ignore,
  isId,
  requireId,
  shareRuns,
  syncDirectory,
} from '../../local/files.ts';
import { isForeign } from '../../local/marks.ts';
import type { Datasets } from './datasets.ts';
import { hasDirectory, readMountinfo } from './filesystems.ts';

/** The type of btrfs in statfs. */
export const btrfsType = 0x9123683e;
/** The inode number of the root of each subvolume of btrfs. */
const subvolumeInode = 256;
/** The trash directory; no volume's id is equal to this name. */
const trashName = '.trash';
/** The time limit for one removal, in ms; the next call continues it. */
const removeTimeoutMs = 120_000;

export type Root = ReturnType<typeof openRoot>;

/**
 * Opens the directory of the volumes, which may be filesystems of ZFS. Every use is UNAVAILABLE once the path leads
 * elsewhere.
 */
export function openRoot(root: string, datasets?: Datasets) {
  const trash = join(root, trashName);
  const requireInRoot = guardDirectory(root);
  const sync = shareRuns(() => syncDirectory(root));
  const syncTrash = shareRuns(() => syncDirectory(trash));

  /** The path of a volume's directory, always directly below the root. INVALID_ARGUMENT for an invalid id. */
  function pathOf(id: string): string {
    const path = join(root, requireId(id, 'volume'));
    requireInRoot();
    return path;
  }

  return {
    root,
    requireInRoot,
    pathOf,
    sync,
    /**
     * UNAVAILABLE for a volume whose filesystem is not mounted: the directory below it would take data in place of the
     * volume.
     */
    requireMounted: async (id: string): Promise<void> => datasets?.requireMounted(pathOf(id)),
    /**
     * Finds the directory of a volume. Undefined if it is missing or belongs to another volume; FAILED_PRECONDITION
     * if the path is not a directory.
     */
    find({ id, nonce }: VolumeRef): string | undefined {
      const path = pathOf(id);
      return hasDirectory(path) && !isForeign(path, nonce) ? path : undefined;
    },
    /**
     * Removes a volume's filesystem, or moves its directory to the trash, in one durable step, so that half a volume is
     * never visible. Another volume with this id stays. FAILED_PRECONDITION while it is mounted elsewhere.
     */
    async discard({ id, nonce }: VolumeRef): Promise<void> {
      const path = pathOf(id);
      if (isForeign(path, nonce)) return;
      await requireUnmounted(path, { id, datasets });
      await datasets?.remove(path);
      if (!hasDirectory(path)) return;
      const discarded = join(trash, `${id}.${randomBytes(8).toString('hex')}`);
      if (!hasDirectory(trash)) await mkdir(trash, { mode: 0o700 }).catch(ignore('EEXIST'));
      await rename(path, discarded);
      // On a shared server another gateway may have replaced the directory since the check.
      if (isForeign(path, nonce)) return rename(discarded, path);
      await syncTrash();
      await sync();
    },
    /** Removes the chosen volumes from the trash, if there are any. */
    async emptyTrash(isChosen: (id: string) => boolean): Promise<void> {
      if (!hasDirectory(trash)) return;
      for (const entry of await readdir(trash)) {
        const [, id = ''] = /^(.+)\.[0-9a-f]{16}$/.exec(entry) ?? [];
        if (isId(id) && isChosen(id)) await removeTree(join(trash, entry));
      }
    },
  };
}

/** True for a directory that is a subvolume, on a btrfs. */
export async function isSubvolume(path: string): Promise<boolean> {
  return (
    hasDirectory(path) &&
    (await lstat(path)).ino === subvolumeInode &&
    (await statfs(path)).type === btrfsType
  );
}

type MountCheck = { readonly id: string; readonly datasets: Datasets | undefined };

/**
 * FAILED_PRECONDITION while this machine has mounted the directory or a part of it. Mounts of other machines are
 * invisible here.
 */
async function requireUnmounted(path: string, { id, datasets }: MountCheck): Promise<void> {
  const text = await readMountinfo();
  // A mount of the directory, or in it, shows a path with the id, which has no characters to escape.
  if (!text.includes(`/${id}`)) return;
  const mounts = parseMountinfo(text);
  const origin = originOf(mounts, path);
  const mount = mounts.find(
    one =>
      datasets?.isOwnMount(one, path, mounts) !== true &&
      (isAtOrBelow(one.path, path) || (one.device === origin?.device && isAtOrBelow(one.root, origin.root))),
  );
  if (mount) throw preconditionProblem(`volume "${id}" is still mounted at "${mount.path}"`);
}

/** Removes a tree. Symbolic links in it are removed, not followed. Mounts in it are kept, and fail the call. */
async function removeTree(path: string): Promise<void> {
  // Starting a command takes longer than the rest of a deletion.
  const isEmpty = await rmdir(path).then(
    () => true,
    () => false,
  );
  if (isEmpty) return;
  if ((await isSubvolume(path)) && mountsBelow(parseMountinfo(await readMountinfo()), path).length === 0)
    return removeSubvolume(path);
  const args = ['-r', '-f', '--one-file-system', '--', path];
  const result = await exec('rm', args, { timeoutMs: removeTimeoutMs });
  if (result.status !== 0) throw commandProblem('rm', `remove "${path}"`, result);
}

/** Removes a subvolume and those in it, which pods can make. */
async function removeSubvolume(path: string): Promise<void> {
  const options = { timeoutMs: removeTimeoutMs };
  const remove = () => exec('btrfs', ['subvolume', 'delete', '--', path], options);
  if ((await remove()).status === 0) return;
  const inside = ['-xdev', '-mindepth', '1', '-type', 'd', '-inum', String(subvolumeInode), '-print0'];
  const { stdout } = await exec('find', [path, ...inside], options);
  for (const inner of stdout.split('\0').filter(Boolean)) await removeSubvolume(inner);
  const result = await remove();
  if (result.status !== 0) throw commandProblem('btrfs', `remove "${path}"`, result);
}
