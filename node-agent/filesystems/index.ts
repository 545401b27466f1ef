import type { Filesystem } from '../filesystem.ts';
import { btrfs } from './btrfs.ts';
import { ext4 } from './ext4.ts';
import { xfs } from './xfs.ts';

/** Every filesystem that the agent makes and mounts. */
export const filesystems: readonly Filesystem[] = [ext4, xfs, btrfs];

/** The filesystem of that name, or undefined. */
export function findFilesystem(name: string): Filesystem | undefined {
  return filesystems.find(filesystem => filesystem.name === name);
}
