import { driverOf, type FilesystemName } from '../../src/api/filesystems.ts';
import type { Filesystem } from '../filesystem.ts';
import { btrfs } from './btrfs.ts';
import { ext4 } from './ext4.ts';
import { xfs } from './xfs.ts';

/** All filesystems by name; the type makes the compiler report a missing one. */
export const filesystemsByName: { readonly [name in FilesystemName]: Filesystem } = { ext4, xfs, btrfs };

export const filesystems: readonly Filesystem[] = Object.values(filesystemsByName);

/** Returns the filesystem of that name, or the one whose driver mounts it (such as ext4 for ext3); undefined for others. */
export function findFilesystem(name: string): Filesystem | undefined {
  const driver = driverOf(name);
  return driver && filesystemsByName[driver];
}
