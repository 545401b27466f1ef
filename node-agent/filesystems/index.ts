import { isFilesystemName, type FilesystemName } from '../../src/api/filesystems.ts';
import type { Filesystem } from '../filesystem.ts';
import { btrfs } from './btrfs.ts';
import { ext4 } from './ext4.ts';
import { xfs } from './xfs.ts';

/** Every filesystem by its name; the compiler names one that is missing. */
export const filesystemsByName: { readonly [name in FilesystemName]: Filesystem } = { ext4, xfs, btrfs };

/** Every filesystem that the agent makes and mounts. */
export const filesystems: readonly Filesystem[] = Object.values(filesystemsByName);

/** The filesystem of that name, or undefined. */
export function findFilesystem(name: string): Filesystem | undefined {
  return isFilesystemName(name) ? filesystemsByName[name] : undefined;
}
