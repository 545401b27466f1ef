import type { FilesystemName, FormatOptions } from '../filesystems.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;
const TiB = 1024 * GiB;

export const luksHeaderBytes = 16 * MiB;

/** Minimum size of an encrypted volume, in bytes; half of it is the header. */
export const luksMinimumBytes = 32 * MiB;

const maxInodes = 2 ** 32 - 1;
/** The size of a group's descriptor in a 64-bit ext4. */
const descriptorBytes = 64;
/** Minimum blocks of an ext4 with a journal; the journal takes half of so small a filesystem. */
const journalBlocks = 2_048;

/** Returns the layout of a new ext4 on a device of this size; the defaults are the same on every node. */
export function ext4Layout(options: FormatOptions, sizeBytes: number) {
  const { 'fs.blockSize': block, 'fs.inodeSize': inode, 'fs.bytesPerInode': ratio } = options;
  return {
    // The default of mke2fs below 512 MiB is 1 KiB, but such a filesystem cannot grow to 1 TiB.
    blockBytes: Number(block ?? 4 * KiB),
    inodeBytes: Number(inode ?? 256),
    bytesPerInode: Number(ratio ?? defaultBytesPerInode(sizeBytes)),
  };
}

/** Returns the default of mke2fs. */
function defaultBytesPerInode(sizeBytes: number): number {
  if (sizeBytes < 512 * MiB) return 4 * KiB;
  if (sizeBytes < 4 * TiB) return 16 * KiB;
  return sizeBytes < 16 * TiB ? 32 * KiB : 64 * KiB;
}

/** Returns the minimum size, in bytes, of a device for the filesystem with these options. */
export function minimumBytesOf(filesystem: FilesystemName, options: FormatOptions = {}): number {
  return { ext4: minimumExt4, xfs: () => 300 * MiB, btrfs: () => 256 * MiB }[filesystem](options);
}

function minimumExt4(options: FormatOptions): number {
  const { blockBytes, inodeBytes, bytesPerInode } = ext4Layout(options, 0);
  // With dense inodes, the inode tables would take the half that the journal leaves.
  const isDense = inodeBytes * 4 > bytesPerInode;
  return isDense ? 2 * journalBlocks * blockBytes : 256 * KiB;
}

/**
 * Returns the size in bytes that a filesystem always reaches if it was made with these options on a device of at least
 * `madeBytes`; Infinity if it is unlimited.
 */
export function reachOf(filesystem: FilesystemName, options: FormatOptions, madeBytes: number): number {
  if (filesystem !== 'ext4') return Infinity;
  const { blockBytes, inodeBytes, bytesPerInode } = ext4Layout(options, madeBytes);
  // One block is the bitmap of a group's blocks, and another one is the bitmap of its inodes.
  const groupBlocks = 8 * blockBytes;
  const whole = Math.max(8, blockBytes / inodeBytes);
  const wanted = Math.ceil((groupBlocks * blockBytes) / bytesPerInode / whole) * whole;
  const inodes = Math.min(wanted, 8 * blockBytes);
  const groupBytes = inodes < wanted ? inodes * bytesPerInode : groupBlocks * blockBytes;
  // The first group holds the descriptors of all groups, besides a few blocks of its own.
  const maxDescriptors = (groupBytes / blockBytes - 16) * (blockBytes / descriptorBytes);
  return Math.floor(Math.min(maxInodes / inodes, maxDescriptors)) * groupBytes;
}
