import { isIPv6 } from 'node:net';
import { posix } from 'node:path';
import { z } from 'zod';
import type { Reach } from '../../src/api/attachment.ts';
import { Problem } from '../../src/api/problem.ts';
import { accessModes, type Capability } from '../../src/api/storage.ts';
import { requireWritableDirectory } from '../../src/lib/directories.ts';
import type { Backend, BackendPlugin, VolumeRef } from '../backend.ts';
import { absoluteDirectory, byteCount, parsedText } from '../configuration/schemas.ts';
import { checkHealth } from './dir/health.ts';
import { lookAt, volumeItem, type Item } from './dir/paths.ts';
import { openPlace } from './dir/place.ts';
import { createSnapshots } from './dir/snapshots.ts';
import { emptyTrash, listTrashed } from './dir/trash.ts';
import { createVolumes, sizesOf } from './dir/volumes.ts';

const settings = z.strictObject({
  dir: absoluteDirectory.describe(
    'directory of the volumes; without nfs it must be at the same path on the node that uses them',
  ),
  nfs: z
    .strictObject({
      server: parsedText(server).describe('host name or address of the NFS server that exports it'),
      path: absoluteDirectory.describe('the path of the directory as the server exports it'),
    })
    .optional()
    .describe('without it nodes bind directories of their own machine'),
  capacity: byteCount
    .optional()
    .describe('bytes that all volumes together may have; else what the filesystem can hold at the start'),
});

type Settings = z.output<typeof settings>;

/** Volumes as directories, which many nodes write at once: bound on this machine, or over NFS. */
export const dir: BackendPlugin<typeof settings> = { settings, open: openDirectories };

async function openDirectories({ dir: directory, nfs, capacity }: Settings): Promise<Backend> {
  const reach: RootReach = nfs ? { protocol: 'nfs', ...nfs } : { protocol: 'bind' };
  const root = await requireWritableDirectory(directory, 'the directory');
  const place = await openPlace(root, capacity);
  const { sizes } = place;
  const volumes = createVolumes(place);
  // What a delete left that was cut short. Where that fails now, the delete itself comes again and tells.
  for (const name of await listTrashed(root)) void emptyTrash(root, name).catch(() => {});
  return {
    name: 'dir',
    accessModes,
    accessTypes: ['mount'],
    areShares: true,
    sizes: sizesOf(sizes.totalBytes),
    parameters: z.strictObject({}),
    async create(volume) {
      for (const capability of volume.capabilities) checkFilesystem(capability, reach.protocol);
      return volumes.create(volume);
    },
    ...(place.copies && { sources: ['snapshot', 'volume'], snapshots: createSnapshots(place) }),
    expand: volumes.expand,
    delete: volumes.delete,
    async attach(volume, { capability }) {
      checkFilesystem(capability, reach.protocol);
      const { path } = await requireThere(root, volume);
      return reach.protocol === 'bind'
        ? { protocol: 'bind', path }
        : { ...reach, path: posix.join(reach.path, volume.id) };
    },
    // A server that is not asked shuts nobody out: that the node has unmounted the volume is the caller's word.
    detach: async () => {},
    volumeHealth: volume => checkHealth(root, volume),
    capacity: async () => ({ totalBytes: sizes.totalBytes, availableBytes: await sizes.freeBytes() }),
    list: volumes.list,
  };
}

/** How nodes reach the root. */
type RootReach = Extract<Reach, { protocol: 'nfs' }> | { readonly protocol: 'bind' };

async function requireThere(root: string, { id }: VolumeRef): Promise<Item> {
  const item = volumeItem(root, id);
  if (await lookAt(item)) return item;
  throw new Problem('FAILED_PRECONDITION', `the directory of ${item.what} is not there`);
}

function checkFilesystem({ fsType }: Capability, protocol: string): void {
  if (fsType === undefined || fsType === protocol) return;
  throw new Problem(
    'INVALID_ARGUMENT',
    `filesystem "${fsType}" cannot be had: a volume of backend "dir" is a directory of a filesystem that is there`,
  );
}

function server(value: string): string {
  if (isIPv6(value) || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?$/.test(value)) return value;
  throw new Error(`"${value}" is neither a host name nor an address`);
}
