import { randomBytes } from 'node:crypto';
import { lstat, mkdir, opendir, readdir, readFile, rename, statfs } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { z } from 'zod';
import { invalidProblem, preconditionProblem, Problem } from '../../src/api/problem.ts';
import { accessModes, type Capability } from '../../src/api/storage.ts';
import { directoryFaults, requireWritableDirectory } from '../../src/lib/directories.ts';
import { lockDirectory } from '../../src/lib/directory-lock.ts';
import { exec } from '../../src/lib/exec.ts';
import { isAtOrBelow, originOf, parseMountinfo } from '../../src/lib/linux/mountinfo.ts';
import type { Backend, BackendPlugin, HealthEntry, VolumeRef } from '../backend.ts';
import { absoluteDirectory, byteCount } from '../configuration/schemas.ts';
import {
  codeOf,
  commandProblem,
  createOwnerMark,
  fileProblem,
  filesystemFaults,
  guardDirectory,
  ignore,
  isId,
  readFault,
  requireId,
  syncDirectory,
  vacateTimeoutMs,
} from './local/files.ts';
import { isAnothers, mark, requireMadeFor, requireNotAnothers, unmark } from './local/marks.ts';

const poolDirectory = 'the directory';

const settings = z.strictObject({
  dir: absoluteDirectory.describe(
    'directory of the volumes; without nfs it must be at the same path on the node that uses them',
  ),
  nfs: z
    .strictObject({
      server: z
        .union([z.ipv6(), z.hostname().regex(/[^.]$/)], 'neither a host name nor an address')
        .describe('host name or address of the NFS server that exports it'),
      path: absoluteDirectory.describe('the path of the directory as the server exports it'),
    })
    .optional()
    .describe('without it nodes bind directories of their own machine'),
  capacity: byteCount
    .optional()
    .describe('bytes that all volumes together may have; else what the filesystem has'),
});

/** For the gateway's user and group; who else may come in is for whoever mounts the volume to say. */
const mode = 0o770;
/** A directory that no volume's id can name. */
const trashName = '.trash';
/** How long one removal may take before the next call continues it, in milliseconds. */
const removeTimeoutMs = 120_000;

type Settings = z.output<typeof settings>;

/** Volumes as directories, which many nodes write at once: bound on this machine, or over NFS. */
export const dir: BackendPlugin<typeof settings> = {
  settings,
  check: ({ dir: directory }) => directoryFaults(directory, poolDirectory),
  open: openDirectories,
};

async function openDirectories({ dir: directory, nfs, capacity }: Settings): Promise<Backend> {
  const protocol = nfs ? 'nfs' : 'bind';
  const root = await requireWritableDirectory(directory, poolDirectory);
  // What lies on a server may have several gateways: nothing is there but the volumes themselves.
  const release = nfs ? undefined : await lockDirectory(root, poolDirectory, vacateTimeoutMs);
  // Continues removals that were interrupted. Where that fails now, the delete itself comes again and reports it.
  void emptyTrash(root, () => true).catch(() => {});
  const place = openPlace(root);
  return {
    name: 'dir',
    accessModes,
    accessTypes: ['mount'],
    areShares: true,
    sizes: { minimumBytes: 2 ** 20, stepBytes: 2 ** 20, defaultBytes: 2 ** 30 },
    parameters: z.strictObject({}),
    ...createVolumes(place, protocol),
    async attach(volume, { capability }) {
      const { id } = volume;
      requireFilesystem(capability, protocol);
      const path = await place.find(volume);
      if (path === undefined) throw preconditionProblem(`the directory of volume "${id}" is missing`);
      return nfs
        ? { protocol: 'nfs', server: nfs.server, path: posix.join(nfs.path, id) }
        : { protocol: 'bind', path };
    },
    // A server that is not asked shuts nobody out: that the node has unmounted the volume is the caller's word.
    detach: async () => {},
    capacity: async () => ({ totalBytes: capacity ?? (await usableBytes(place)) }),
    owner: createOwnerMark(root),
    close: async () => release?.(),
  };
}

/** What the root's filesystem has for its users in all, in use or not. */
async function usableBytes({ root, requireInPlace }: Place): Promise<number> {
  requireInPlace();
  const { blocks, bfree, bavail, bsize } = await statfs(root);
  return (blocks - bfree + bavail) * bsize;
}

function requireFilesystem({ fsType }: Capability, protocol: string): void {
  if (fsType === undefined || fsType === protocol) return;
  throw invalidProblem(
    `filesystem "${fsType}" cannot be used: a volume of backend "dir" is a directory of a filesystem that is there`,
  );
}

/** One directory for each volume. Nothing records or enforces a size: it is what was asked for. */
function createVolumes(
  { root, find, pathOf, requireInPlace }: Place,
  protocol: string,
): Required<Pick<Backend, 'create' | 'expand' | 'delete' | 'volumeHealth' | 'list'>> {
  return {
    async create({ id, nonce, requiredBytes, capabilities }) {
      for (const capability of capabilities) requireFilesystem(capability, protocol);
      const path = await find({ id });
      const [made, what] = [pathOf(id), `the directory of volume "${id}"`];
      // An empty directory without a mark is what an unfinished create left; one that holds data is never given to a new volume.
      const holdsData = path !== undefined && (await readdir(path)).length > 0;
      if (holdsData) requireMadeFor(path, nonce, what);
      try {
        await mkdir(made, { mode }).catch(ignore('EEXIST'));
        if (!holdsData) mark(made, nonce, { what });
        // The mode is set whatever the process masks.
        await syncDirectory(made, mode);
        await syncDirectory(root);
      } catch (error) {
        // Without the root it may still be made later.
        throw codeOf(error) === 'ENOENT' ? error : fileProblem(error, what);
      }
      return { sizeBytes: requiredBytes };
    },

    async expand(volume, { requiredBytes }) {
      const { id, sizeBytes } = volume;
      if ((await find(volume)) === undefined)
        throw new Problem('NOT_FOUND', `the directory of volume "${id}" is missing`);
      return { sizeBytes: Math.max(sizeBytes, requiredBytes), nodeExpansionRequired: false };
    },

    async delete(volume) {
      const { id } = volume;
      const path = await find(volume);
      if (path !== undefined) {
        await requireUnmounted(path, id);
        await discard(root, volume);
      }
      unmark(join(root, id), volume.nonce);
      await emptyTrash(root, one => one === id);
    },

    volumeHealth: async volume => healthOf(root, pathOf(volume.id), volume),

    async *list() {
      requireInPlace();
      for (const entry of await readdir(root, { withFileTypes: true }))
        if (entry.isDirectory() && isId(entry.name)) yield entry.name;
    },
  };
}

type Place = ReturnType<typeof openPlace>;

/** Where the volumes lie, for as long as it is there: UNAVAILABLE afterwards. */
function openPlace(root: string) {
  const requireInPlace = guardDirectory(root);
  /** Right below the root; INVALID_ARGUMENT for what is no volume's id. */
  const pathOf = (id: string): string => {
    const path = join(root, requireId(id, 'volume'));
    requireInPlace();
    return path;
  };
  return {
    root,
    requireInPlace,
    pathOf,
    /** The path of a volume's directory; undefined when it is missing, FAILED_PRECONDITION for what is no directory. */
    async find({ id, nonce }: VolumeRef): Promise<string | undefined> {
      const path = pathOf(id);
      return (await hasDirectory(path)) && !isAnothers(path, nonce) ? path : undefined;
    },
  };
}

/** FAILED_PRECONDITION while this machine has the directory or a part of it mounted; others' mounts it cannot see. */
async function requireUnmounted(path: string, id: string): Promise<void> {
  const mounts = parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
  const origin = originOf(mounts, path);
  const mount = mounts.find(
    one =>
      isAtOrBelow(one.path, path) || (one.device === origin?.device && isAtOrBelow(one.root, origin.root)),
  );
  if (mount) throw preconditionProblem(`volume "${id}" is still mounted at "${mount.path}"`);
}

/** Takes a volume's directory away at one instant, durably: it never shows as half a volume. */
async function discard(root: string, { id, nonce }: VolumeRef): Promise<void> {
  const [path, trash] = [join(root, id), join(root, trashName)];
  const discarded = join(trash, `${id}.${randomBytes(8).toString('hex')}`);
  await mkdir(trash, { mode: 0o700 }).catch(ignore('EEXIST'));
  await hasDirectory(trash);
  await rename(path, discarded);
  // On a server another gateway may have replaced it since it was looked at.
  if (isAnothers(path, nonce)) return rename(discarded, path);
  await syncDirectory(trash);
  await syncDirectory(root);
}

/** Removes what is in the trash of the chosen volumes; nothing there is fine. */
async function emptyTrash(root: string, isChosen: (id: string) => boolean): Promise<void> {
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
  throw preconditionProblem(`"${path}" is not a directory`);
}

/** Removes a tree. Links in it are removed and never followed; what is mounted in it stays, and is an error. */
async function removeTree(path: string): Promise<void> {
  const args = ['-r', '-f', '--one-file-system', '--', path];
  const result = await exec('rm', args, { timeoutMs: removeTimeoutMs });
  if (result.status !== 0) throw commandProblem('rm', `remove "${path}"`, result);
}

/** What is wrong with a volume's directory and with the filesystem, which nothing keeps one volume from filling. */
async function healthOf(
  root: string,
  path: string,
  { id, nonce }: VolumeRef,
): Promise<readonly HealthEntry[]> {
  try {
    requireNotAnothers(path, nonce, poolDirectory);
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
