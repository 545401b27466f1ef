import { statfs } from 'node:fs/promises';
import { posix } from 'node:path';
import { z } from 'zod';
import { Problem } from '../../src/api/problem.ts';
import { accessModes, type Capability } from '../../src/api/storage.ts';
import { requireWritableDirectory } from '../../src/lib/directories.ts';
import { lockDirectory } from '../../src/lib/directory-lock.ts';
import type { Backend, BackendPlugin } from '../backend.ts';
import { absoluteDirectory, byteCount } from '../configuration/schemas.ts';
import { createVolumes, emptyTrash, findVolume } from './dir/volumes.ts';
import { vacateTimeoutMs } from './local/files.ts';

const settings = z.strictObject({
  dir: absoluteDirectory.describe(
    'directory of the volumes; without nfs it must be at the same path on the node that uses them',
  ),
  nfs: z
    .strictObject({
      server: z
        .union([z.ipv6(), z.hostname()], 'neither a host name nor an address')
        .describe('host name or address of the NFS server that exports it'),
      path: absoluteDirectory.describe('the path of the directory as the server exports it'),
    })
    .optional()
    .describe('without it nodes bind directories of their own machine'),
  capacity: byteCount
    .optional()
    .describe('bytes that all volumes together may have; else what the filesystem has'),
});

type Settings = z.output<typeof settings>;

/** Volumes as directories, which many nodes write at once: bound on this machine, or over NFS. */
export const dir: BackendPlugin<typeof settings> = { settings, open: openDirectories };

async function openDirectories({ dir: directory, nfs, capacity }: Settings): Promise<Backend> {
  const protocol = nfs ? 'nfs' : 'bind';
  const root = await requireWritableDirectory(directory, 'the directory');
  // What lies on a server may have several gateways: nothing is there but the volumes themselves.
  const release = nfs ? undefined : await lockDirectory(root, 'the directory', vacateTimeoutMs);
  const volumes = createVolumes(root);
  // Continues removals that were interrupted. Where that fails now, the delete itself comes again and reports it.
  void emptyTrash(root, () => true).catch(() => {});
  return {
    name: 'dir',
    accessModes,
    accessTypes: ['mount'],
    areShares: true,
    sizes: { minimumBytes: 2 ** 20, stepBytes: 2 ** 20, defaultBytes: 2 ** 30 },
    parameters: z.strictObject({}),
    ...volumes,
    async create(volume) {
      for (const capability of volume.capabilities) requireFilesystem(capability, protocol);
      return volumes.create(volume);
    },
    async attach({ id }, { capability }) {
      requireFilesystem(capability, protocol);
      const path = await findVolume(root, id);
      if (path === undefined)
        throw new Problem('FAILED_PRECONDITION', `the directory of volume "${id}" is missing`);
      return nfs
        ? { protocol: 'nfs', server: nfs.server, path: posix.join(nfs.path, id) }
        : { protocol: 'bind', path };
    },
    // A server that is not asked shuts nobody out: that the node has unmounted the volume is the caller's word.
    detach: async () => {},
    capacity: async () => ({ totalBytes: capacity ?? (await usableBytes(root)) }),
    close: async () => release?.(),
  };
}

/** What the root's filesystem has for its users in all, in use or not. */
async function usableBytes(root: string): Promise<number> {
  const { blocks, bfree, bavail, bsize } = await statfs(root);
  return (blocks - bfree + bavail) * bsize;
}

function requireFilesystem({ fsType }: Capability, protocol: string): void {
  if (fsType === undefined || fsType === protocol) return;
  throw new Problem(
    'INVALID_ARGUMENT',
    `filesystem "${fsType}" cannot be had: a volume of backend "dir" is a directory of a filesystem that is there`,
  );
}
