import { lstat, mkdir, opendir, readdir, statfs } from 'node:fs/promises';
import { join, posix } from 'node:path';
import * as z from 'zod';
import { invalidProblem, preconditionProblem, Problem } from '../../src/api/problem.ts';
import { accessModes, type Capability } from '../../src/api/storage.ts';
import { directoryFaults, requireWritableDirectory } from '../../src/lib/directories.ts';
import { lockDirectory } from '../../src/lib/linux/directory-lock.ts';
import type {
  AttachmentBounds,
  Backend,
  BackendPlugin,
  HealthEntry,
  PoolContext,
  VolumeRef,
} from '../backend.ts';
import { absoluteDirectory, byteCount } from '../local/settings-schemas.ts';
import {
  codeOf,
  createOwnerMark,
  fileProblem,
  filesystemFaults,
  ignore,
  isId,
  listing,
  readFault,
  syncDirectory,
  vacateTimeoutMs,
  type Access,
} from '../local/files.ts';
import { mark, requireMadeFor, requireNotForeign, unmark } from '../local/marks.ts';
import { findQuota, type Quota } from './dir/quota.ts';
import { hasDirectory, openRoot, type Root } from './dir/root.ts';

const poolDirectory = 'the directory';

const settings = z.strictObject({
  dir: absoluteDirectory.describe(
    'directory of the volumes; without nfs it must have the same path on the node',
  ),
  nfs: z
    .strictObject({
      server: z
        .union([z.ipv6(), z.hostname().regex(/[^.]$/)], 'use a host name or an IP address')
        .describe('host name or address of the NFS server of the directory'),
      path: absoluteDirectory.describe('path of the directory on the NFS server'),
    })
    .optional()
    .describe('the NFS server for nodes; without it they bind-mount local directories'),
  capacity: byteCount
    .optional()
    .describe('maximum bytes of all volumes together; default: the size of the filesystem'),
});

const accountId = z
  .string()
  .regex(/^(0|[1-9]\d{0,9})$/, 'use a number')
  // The greatest 32-bit number means no account (chown(2)).
  .refine(id => Number(id) < 2 ** 32 - 1, 'use a number below 4294967295');

/** The owner, group and mode of a new volume's directory. */
const parameters = z.strictObject({
  uid: accountId.exactOptional(),
  gid: accountId.exactOptional(),
  mode: z
    .string()
    .regex(/^[0-3]?[0-7]{3}$/, 'use an octal mode, such as 0770 or 2775')
    .exactOptional(),
});

/** Reads the access of a new directory: by default for the gateway's user and group. The mounting side decides about others. */
function accessOf({ uid, gid, mode = '0770' }: z.output<typeof parameters>): Access {
  return {
    mode: Number.parseInt(mode, 8),
    ...(uid !== undefined && { uid: Number(uid) }),
    ...(gid !== undefined && { gid: Number(gid) }),
  };
}

type Settings = z.output<typeof settings>;

/**
 * Stores volumes as directories. Many nodes can write to one at once, through a bind mount on this machine or over
 * NFS.
 */
export const dir: BackendPlugin<typeof settings> = {
  settings,
  addressOf: ({ dir: directory }) => directory,
  check: ({ dir: directory }) => directoryFaults(directory, poolDirectory),
  missingFeatures: async ({ dir: directory }) =>
    (await findQuota(directory))
      ? []
      : [
          `the filesystem of "${directory}" has no project quotas, so a volume can grow beyond its size; use an XFS that is mounted with "prjquota"`,
        ],
  readOwner: ({ dir: directory }) => createOwnerMark(directory).read(),
  expectedBounds: ({ dir: directory, nfs }) => boundsOf(directory, nfs),
  open: openDirectories,
};

function boundsOf(root: string, nfs: Settings['nfs']): AttachmentBounds {
  return nfs
    ? { protocols: ['nfs'], addresses: [nfs.server], roots: [nfs.path] }
    : { protocols: ['bind'], roots: [root] };
}

async function openDirectories(
  { dir: directory, nfs, capacity }: Settings,
  { log }: Pick<PoolContext, 'log'>,
): Promise<Backend> {
  const protocol = nfs ? 'nfs' : 'bind';
  const root = await requireWritableDirectory(directory, poolDirectory);
  // Several gateways may share a directory on a server, so there is no lock, and nothing but the volumes is stored
  // there.
  const release = nfs
    ? undefined
    : await lockDirectory(root, poolDirectory, { waitMs: vacateTimeoutMs, log });
  const volumesRoot = openRoot(root);
  // Continues interrupted removals. A failure here is ignored: the repeated delete reports it.
  void volumesRoot.emptyTrash(() => true).catch(() => {});
  return {
    name: 'dir',
    accessModes,
    accessTypes: ['mount'],
    areShares: true,
    attachmentBounds: boundsOf(root, nfs),
    listedAs: `a directory CLUSTER.NAME in "${root}"`,
    sizes: { minimumBytes: 2 ** 20, stepBytes: 2 ** 20, defaultBytes: 2 ** 30 },
    parameters,
    ...createVolumes(volumesRoot, protocol, await findQuota(root)),
    async attach(volume, { capability }) {
      const { id } = volume;
      requireFilesystem(capability, protocol);
      const path = volumesRoot.find(volume);
      if (path === undefined) throw preconditionProblem(`the directory of volume "${id}" is missing`);
      return nfs
        ? { protocol: 'nfs', server: nfs.server, path: posix.join(nfs.path, id) }
        : { protocol: 'bind', path };
    },
    // Nothing to do: this backend cannot cut a node off from the server, so it trusts the caller that the node has
    // unmounted the volume.
    detach: async () => {},
    cannotCutOff: true,
    capacity: async () => ({ totalBytes: capacity ?? (await usableBytes(volumesRoot)) }),
    owner: createOwnerMark(root),
    close: async () => release?.(),
  };
}

/** The bytes that the root's filesystem has for its users, used and free. */
async function usableBytes({ root, requireInRoot }: Root): Promise<number> {
  requireInRoot();
  const { blocks, bfree, bavail, bsize } = await statfs(root);
  return (blocks - bfree + bavail) * bsize;
}

function requireFilesystem({ fsType }: Capability, protocol: string): void {
  if (fsType === undefined || fsType === protocol) return;
  throw invalidProblem(
    `filesystem "${fsType}" cannot be used: a volume of backend "dir" is a directory of an existing filesystem; leave the filesystem out`,
  );
}

/**
 * Manages one directory for each volume. Sizes are not stored: a volume's size is the requested one. Only a quota enforces it.
 */
function createVolumes(
  { root, find, pathOf, requireInRoot, sync, discard, emptyTrash }: Root,
  protocol: string,
  quota: Quota,
): Required<Pick<Backend, 'create' | 'expand' | 'delete' | 'volumeHealth' | 'list'>> {
  return {
    async create({ id, nonce, requiredBytes, capabilities, parameters: given }) {
      for (const capability of capabilities) requireFilesystem(capability, protocol);
      const [path, noun] = [pathOf(id), `the directory of volume "${id}"`];
      const isThere = hasDirectory(path);
      // An empty directory without a mark is left from an unfinished create. A directory with data never becomes a
      // new volume.
      const holdsData = isThere && (await readdir(path)).length > 0;
      if (holdsData) requireMadeFor(path, nonce, noun);
      try {
        if (!isThere) await mkdir(path, { mode: 0o700 }).catch(ignore('EEXIST'));
        if (!holdsData) mark(path, nonce, { what: noun });
        await quota?.limit(path, requiredBytes, { isNew: !holdsData });
        // A directory with data has its access already, and a pod may have changed it since.
        await Promise.all([syncDirectory(path, holdsData ? undefined : accessOf(given)), sync()]);
      } catch (error) {
        // Other calls fail so as well, such as the mark on a filesystem without links.
        const isGivenAway = given['uid'] !== undefined || given['gid'] !== undefined;
        if (isGivenAway && codeOf(error) === 'EPERM')
          throw preconditionProblem(
            `${noun} cannot get another owner: run the gateway as root, or leave "uid" and "gid" out`,
            error,
          );
        // ENOENT means that the root is missing, and a later try may succeed.
        throw codeOf(error) === 'ENOENT' ? error : fileProblem(error, noun);
      }
      return { sizeBytes: requiredBytes };
    },

    async expand(volume, { requiredBytes }) {
      const { id } = volume;
      const path = find(volume);
      if (path === undefined) throw new Problem('NOT_FOUND', `the directory of volume "${id}" is missing`);
      const sizeBytes = Math.max(volume.sizeBytes, requiredBytes);
      await quota?.limit(path, sizeBytes, { isNew: false });
      return { sizeBytes, nodeExpansionRequired: false };
    },

    async delete(volume) {
      const { id } = volume;
      const path = find(volume);
      // A crash before the release leaves a limit of a project that nothing is in.
      const release = path === undefined ? undefined : await quota?.releaseOf(path);
      if (path !== undefined) await discard(volume);
      unmark(join(root, id), volume.nonce);
      await emptyTrash(one => one === id);
      await release?.();
    },

    volumeHealth: async volume => healthOf(root, pathOf(volume.id), volume),

    async *list() {
      requireInRoot();
      for await (const entry of await opendir(root, listing))
        if (entry.isDirectory() && isId(entry.name)) yield entry.name;
    },
  };
}

/** Reports the faults of a volume's directory and of the filesystem, which any volume can fill for the others. */
async function healthOf(
  root: string,
  path: string,
  { id, nonce }: VolumeRef,
): Promise<readonly HealthEntry[]> {
  try {
    requireNotForeign(path, nonce, poolDirectory);
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
