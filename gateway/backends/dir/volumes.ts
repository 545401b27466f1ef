import { readdir, readFile, rmdir } from 'node:fs/promises';
import { Problem } from '../../../src/api/problem.ts';
import { isAtOrBelow, originOf, parseMountinfo } from '../../../src/lib/linux/mountinfo.ts';
import type { Backend } from '../../backend.ts';
import { isThere, isVolumeId, makeDirectory, volumeDirectory, type VolumeDirectory } from './paths.ts';
import { discard } from './trash.ts';

/** For the gateway's user and group; who else may come in is for whoever mounts the volume to say. */
const mode = 0o770;

/**
 * The volumes of a root: one directory for each. Nothing enforces a volume's size, and none is kept here: a volume has
 * the size that was asked for.
 */
export function createVolumes(
  root: string,
): Required<Pick<Backend, 'create' | 'expand' | 'delete' | 'list'>> {
  return {
    async create({ id, requiredBytes }) {
      const volume = volumeDirectory(root, id);
      if (await isThere(volume)) await requireEmpty(volume);
      try {
        await makeDirectory(volume.path, mode);
      } catch (error) {
        await rmdir(volume.path).catch(() => {});
        throw toProblem(error, id);
      }
      return { sizeBytes: requiredBytes };
    },

    async expand({ id, sizeBytes }, { requiredBytes, limitBytes }) {
      if (!(await isThere(volumeDirectory(root, id))))
        throw new Problem('NOT_FOUND', `the directory of volume "${id}" is missing`);
      if (limitBytes > 0 && sizeBytes > limitBytes)
        throw new Problem('OUT_OF_RANGE', `volume "${id}" has ${sizeBytes} bytes and cannot shrink`);
      return { sizeBytes: Math.max(sizeBytes, requiredBytes), nodeExpansionRequired: false };
    },

    async delete({ id }) {
      const volume = volumeDirectory(root, id);
      await requireUnmounted(volume);
      await discard(root, volume);
    },

    async *list() {
      for (const entry of await readdir(root, { withFileTypes: true }))
        if (entry.isDirectory() && isVolumeId(entry.name)) yield entry.name;
    },
  };
}

/** An empty directory is what an unfinished create left; one that holds data is never given to a new volume. */
async function requireEmpty({ id, path }: VolumeDirectory): Promise<void> {
  if ((await readdir(path)).length > 0)
    throw new Problem('ALREADY_EXISTS', `the directory of volume "${id}" exists and is not empty`);
}

/**
 * FAILED_PRECONDITION while this machine has the directory, or a part of it, mounted somewhere, or something mounted in
 * it. What other machines mount, it cannot see.
 */
async function requireUnmounted({ id, path }: VolumeDirectory): Promise<void> {
  const mounts = parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
  const origin = originOf(mounts, path);
  const mount = mounts.find(
    one =>
      isAtOrBelow(one.path, path) || (one.device === origin?.device && isAtOrBelow(one.root, origin.root)),
  );
  if (mount) throw new Problem('FAILED_PRECONDITION', `volume "${id}" is still mounted at "${mount.path}"`);
}

function toProblem(error: unknown, id: string): Problem {
  if (error instanceof Problem) return error;
  const { code = 'unknown error' } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Problem('RESOURCE_EXHAUSTED', `the filesystem of the volumes is full (${code})`, error);
  return new Problem('UNAVAILABLE', `cannot make the directory of volume "${id}" (${code})`, error);
}
