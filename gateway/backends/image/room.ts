import { lstatSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { namesIn } from './drafts.ts';
import { imageId, snapshotDirectory, snapshotId } from './paths.ts';

/**
 * How much of the pool is promised, in bytes: an image counts as if it were not sparse, because a node may fill it; a
 * snapshot counts as what it has allocated, because nothing is ever written to it.
 */
export interface Room {
  readonly totalBytes: number;
  readonly freeBytes: number;
  /** Counts the file, in place of what was counted for it; RESOURCE_EXHAUSTED when it does not fit. */
  take(path: string, sizeBytes: number): void;
  /** Counts the file no more. */
  free(path: string): void;
  /** What is counted for the file. */
  taken(path: string): number;
}

/**
 * Counts the files that are there. Without `capacityBytes` the pool is what the filesystem could hold now: its free
 * space and what the files have of it.
 */
export function createRoom(root: string, capacityBytes?: number): Room {
  const found = scan(root);
  const sizes = new Map(found.map(({ path, promisedBytes }) => [path, promisedBytes]));
  let usedBytes = sum(found.map(({ promisedBytes }) => promisedBytes));
  const totalBytes = capacityBytes ?? poolBytes(root, sum(found.map(({ allocatedBytes }) => allocatedBytes)));
  return {
    totalBytes,
    get freeBytes() {
      return Math.max(0, totalBytes - usedBytes);
    },
    take(path, sizeBytes) {
      const before = sizes.get(path) ?? 0;
      const left = totalBytes - usedBytes + before;
      if (sizeBytes > before && sizeBytes > left)
        throw new Problem(
          'RESOURCE_EXHAUSTED',
          `${sizeBytes} bytes do not fit into the ${Math.max(0, left)} that are left`,
        );
      usedBytes += sizeBytes - before;
      sizes.set(path, sizeBytes);
    },
    free(path) {
      usedBytes -= sizes.get(path) ?? 0;
      sizes.delete(path);
    },
    taken: path => sizes.get(path) ?? 0,
  };
}

type Found = { readonly path: string; readonly promisedBytes: number; readonly allocatedBytes: number };

function scan(root: string): readonly Found[] {
  const directory = snapshotDirectory(root);
  const volumes = namesIn(root).filter(name => imageId(name) !== undefined);
  const snapshots = namesIn(directory).filter(name => snapshotId(name) !== undefined);
  return [
    ...volumes.map(name => measure(join(root, name), 'image')),
    ...snapshots.map(name => measure(join(directory, name), 'snapshot')),
  ];
}

function measure(path: string, kind: 'image' | 'snapshot'): Found {
  const { size, blocks } = lstatSync(path);
  const allocatedBytes = blocks * 512;
  return { path, allocatedBytes, promisedBytes: kind === 'image' ? size : allocatedBytes };
}

/** Files that share blocks show them each, so that together they may show more than the filesystem has in use. */
function poolBytes(root: string, allocatedBytes: number): number {
  const { blocks, bfree, bavail, bsize } = statfsSync(root);
  return bavail * bsize + Math.min(allocatedBytes, (blocks - bfree) * bsize);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
