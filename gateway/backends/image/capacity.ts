import { lstatSync, readdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { imageId, snapshotDirectory, snapshotId } from './paths.ts';

/** What the filesystem could hold of images and snapshots now, in bytes: its free space and what they have of it. */
export function measureCapacity(root: string): number {
  const snapshots = snapshotDirectory(root);
  const ours = [
    ...filesIn(root, name => imageId(name) !== undefined),
    ...filesIn(snapshots, name => snapshotId(name) !== undefined),
  ];
  const allocatedBytes = ours.reduce((sum, path) => sum + lstatSync(path).blocks * 512, 0);
  const { blocks, bfree, bavail, bsize } = statfsSync(root);
  // Files that share blocks show them each, so that together they may show more than the filesystem has in use.
  return bavail * bsize + Math.min(allocatedBytes, (blocks - bfree) * bsize);
}

function filesIn(directory: string, isOurs: (name: string) => boolean): readonly string[] {
  return readdirSync(directory)
    .filter(isOurs)
    .map(name => join(directory, name));
}
