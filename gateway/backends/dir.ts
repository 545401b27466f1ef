import { statfs } from 'node:fs/promises';
import { posix } from 'node:path';
import * as z from 'zod';
import { preconditionProblem } from '../../src/api/problem.ts';
import { accessModes } from '../../src/api/storage.ts';
import { directoryFaults, requireWritableDirectory } from '../../src/lib/directories.ts';
import { lockDirectory } from '../../src/lib/linux/directory-lock.ts';
import type { AttachmentBounds, Backend, BackendPlugin, PoolContext } from '../backend.ts';
import { createOwnerMark, vacateTimeoutMs } from '../local/files.ts';
import { absoluteDirectory, byteCount } from '../local/settings-schemas.ts';
import { findQuota } from './dir/quota.ts';
import { openRoot, type Root } from './dir/root.ts';
import { createSnapshots } from './dir/snapshots.ts';
import { findSubvolumes, openSubvolumes } from './dir/subvolumes.ts';
import { createVolumes, parameters, requireFilesystem } from './dir/volumes.ts';

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

type Settings = z.output<typeof settings>;

/**
 * Stores volumes as directories. Many nodes can write to one at once, through a bind mount on this machine or over
 * NFS.
 */
export const dir: BackendPlugin<typeof settings> = {
  settings,
  addressOf: ({ dir: directory }) => directory,
  check: ({ dir: directory }) => directoryFaults(directory, poolDirectory),
  missingFeatures: findMissingFeatures,
  readOwner: ({ dir: directory }) => createOwnerMark(directory).read(),
  expectedBounds: ({ dir: directory, nfs }) => boundsOf(directory, nfs),
  open: openDirectories,
};

/** Lists the features that a pool lacks, one line each. */
async function findMissingFeatures({ dir: directory }: Settings): Promise<readonly string[]> {
  const hasQuota = (await findQuota(directory)) !== undefined;
  const hasCopies = (await findSubvolumes(directory)) !== undefined;
  return [
    ...(hasQuota
      ? []
      : [
          `the filesystem of "${directory}" has no project quotas, so a volume can grow beyond its size; use an XFS that is mounted with "prjquota"`,
        ]),
    ...(hasCopies
      ? []
      : [
          `the filesystem of "${directory}" copies no directory at one instant, so volumes have no snapshots and no clones; use a btrfs, with btrfs-progs and a gateway that runs as root`,
        ]),
  ];
}

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
  const subvolumes = await openSubvolumes(root);
  const copies = subvolumes && createSnapshots(volumesRoot, subvolumes);
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
    ...createVolumes(volumesRoot, { protocol, copies, subvolumes, quota: await findQuota(root) }),
    ...(copies && { sources: ['snapshot', 'volume'], snapshots: copies.snapshots }),
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
