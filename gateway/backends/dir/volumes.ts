import { randomBytes } from 'node:crypto';
import { lstat, mkdir, opendir, readdir, readFile, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { exec } from '../../../src/lib/exec.ts';
import { isAtOrBelow, originOf, parseMountinfo } from '../../../src/lib/linux/mountinfo.ts';
import type { Backend, HealthEntry, VolumeRef } from '../../backend.ts';
import {
  codeOf,
  commandProblem,
  fileProblem,
  filesystemFaults,
  ignore,
  isId,
  readFault,
  requireId,
  syncDirectory,
} from '../local/files.ts';

/** For the gateway's user and group; who else may come in is for whoever mounts the volume to say. */
const mode = 0o770;

/** A directory that no volume's id can name. */
const trashName = '.trash';

/** How long one removal may take before the next call continues it, in milliseconds. */
const removeTimeoutMs = 120_000;

/**
 * The volumes of a root: one directory for each. Nothing enforces a volume's size, and none is recorded here: a volume has
 * the size that was asked for.
 */
export function createVolumes(
  root: string,
): Required<Pick<Backend, 'create' | 'expand' | 'delete' | 'volumeHealth' | 'list'>> {
  return {
    async create({ id, requiredBytes }) {
      const path = await findVolume(root, id);
      // An empty directory is what an unfinished create left; one that holds data is never given to a new volume.
      if (path !== undefined && (await readdir(path)).length > 0)
        throw new Problem('ALREADY_EXISTS', `the directory of volume "${id}" exists and is not empty`);
      const made = join(root, id);
      try {
        await mkdir(made, { mode }).catch(ignore('EEXIST'));
        // The mode is set whatever the process masks.
        await syncDirectory(made, mode);
        await syncDirectory(root);
      } catch (error) {
        await rmdir(made).catch(() => {});
        // Without the root it may still be made later.
        throw codeOf(error) === 'ENOENT' ? error : fileProblem(error, `the directory of volume "${id}"`);
      }
      return { sizeBytes: requiredBytes };
    },

    async expand({ id, sizeBytes }, { requiredBytes }) {
      if ((await findVolume(root, id)) === undefined)
        throw new Problem('NOT_FOUND', `the directory of volume "${id}" is missing`);
      return { sizeBytes: Math.max(sizeBytes, requiredBytes), nodeExpansionRequired: false };
    },

    async delete({ id }) {
      const path = await findVolume(root, id);
      if (path !== undefined) await requireUnmounted(path, id);
      await discard(root, id, path);
    },

    volumeHealth: volume => healthOf(root, volume),

    async *list() {
      for (const entry of await readdir(root, { withFileTypes: true }))
        if (entry.isDirectory() && isId(entry.name)) yield entry.name;
    },
  };
}

/**
 * The path of a volume's directory, right below the root; undefined when it is missing. INVALID_ARGUMENT for what is no
 * volume's id, FAILED_PRECONDITION for what is no directory, such as a symbolic link.
 */
export async function findVolume(root: string, id: string): Promise<string | undefined> {
  const path = join(root, requireId(id, 'volume'));
  return (await hasDirectory(path)) ? path : undefined;
}

/**
 * FAILED_PRECONDITION while this machine has the directory, or a part of it, mounted somewhere, or something mounted in
 * it. What other machines mount, it cannot see.
 */
async function requireUnmounted(path: string, id: string): Promise<void> {
  const mounts = parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
  const origin = originOf(mounts, path);
  const mount = mounts.find(
    one =>
      isAtOrBelow(one.path, path) || (one.device === origin?.device && isAtOrBelow(one.root, origin.root)),
  );
  if (mount) throw new Problem('FAILED_PRECONDITION', `volume "${id}" is still mounted at "${mount.path}"`);
}

/**
 * Takes a volume's directory away at one instant, durably, and then removes what is in it: it never shows as half a
 * volume. Run again it continues where it stood.
 */
async function discard(root: string, id: string, path: string | undefined): Promise<void> {
  if (path !== undefined) {
    const trash = join(root, trashName);
    await mkdir(trash, { mode: 0o700 }).catch(ignore('EEXIST'));
    await hasDirectory(trash);
    await rename(path, join(trash, `${id}.${randomBytes(8).toString('hex')}`));
    await syncDirectory(trash);
    await syncDirectory(root);
  }
  await emptyTrash(root, one => one === id);
}

/** Removes what is in the trash of the chosen volumes; nothing there is fine. */
export async function emptyTrash(root: string, isChosen: (id: string) => boolean): Promise<void> {
  const trash = join(root, trashName);
  if (!(await hasDirectory(trash))) return;
  for (const entry of await readdir(trash)) {
    const [, id = ''] = /^(.+)\.[0-9a-f]{16}$/.exec(entry) ?? [];
    if (isId(id) && isChosen(id)) await removeTree(join(trash, entry));
  }
}

/** False when nothing is there; FAILED_PRECONDITION for what is no directory, such as a symbolic link. */
async function hasDirectory(path: string): Promise<boolean> {
  const found = await lstat(path).catch(ignore('ENOENT'));
  if (!found || found.isDirectory()) return found !== undefined;
  throw new Problem('FAILED_PRECONDITION', `"${path}" is not a directory`);
}

/** Removes a tree. Links in it are removed and never followed; what is mounted in it stays, and is an error. */
async function removeTree(path: string): Promise<void> {
  const args = ['-r', '-f', '--one-file-system', '--', path];
  const result = await exec('rm', args, { timeoutMs: removeTimeoutMs });
  if (result.status !== 0) throw commandProblem('rm', `remove "${path}"`, result);
}

/** What is wrong with a volume's directory and with the filesystem, which nothing keeps one volume from filling. */
async function healthOf(root: string, { id }: VolumeRef): Promise<readonly HealthEntry[]> {
  const path = join(root, requireId(id, 'volume'));
  try {
    if (!(await lstat(path)).isDirectory()) {
      const message = `"${path}" of volume "${id}" is not a directory`;
      return [{ status: 'DATA_LOSS', reason: 'DirectoryReplaced', message }];
    }
    await using directory = await opendir(path);
    await directory.read();
    return await filesystemFaults(root, 1);
  } catch (error) {
    return [readFault(error, 'directory', id)];
  }
}
