import { statfs } from 'node:fs/promises';
import { exec } from '../../../src/lib/exec.ts';
import { openDrafts, type Drafts } from './drafts.ts';
import { openSizes, type Sizes } from './sizes.ts';
import { makesSubvolumes } from './subvolumes.ts';

/** The root of the volumes, and what is known of it. */
export type Place = {
  readonly root: string;
  readonly sizes: Sizes;
  readonly drafts: Drafts;
  /** New volumes are subvolumes of btrfs. */
  readonly subvolumes: boolean;
  /** Trees can be copied with all that belongs to them, and a change meanwhile is seen. */
  readonly copies: boolean;
};

/** Filesystems of this machine alone, by their number in statfs: nobody writes to them past its kernel. */
const localFilesystems: Readonly<Record<number, string>> = {
  0xef53: 'ext4',
  0x58465342: 'xfs',
  0x9123683e: 'btrfs',
};

/** Those of GNU, which tell their version. */
const tools = ['cp', 'find', 'mv', 'sync'];

/** Opens a root that is an existing directory. */
export async function openPlace(root: string, capacityBytes: number | undefined): Promise<Place> {
  const sizes = await openSizes(root, capacityBytes);
  return {
    root,
    sizes,
    drafts: openDrafts(root),
    subvolumes: await makesSubvolumes(root),
    copies: await canCopy(root),
  };
}

/** Without root, owners and devices would be lost on the way; and other tools of these names do less. */
async function canCopy(root: string): Promise<boolean> {
  if (!((await statfs(root)).type in localFilesystems) || process.geteuid?.() !== 0) return false;
  const asked = tools.map(tool => exec(tool, ['--version'], { timeoutMs: 10_000 }));
  return (await Promise.all(asked)).every(({ status }) => status === 0);
}
