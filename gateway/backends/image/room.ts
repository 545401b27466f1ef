import { lstatSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { openChangeCount } from '../files/change-count.ts';
import { namesIn } from './drafts.ts';
import { imageId, snapshotDirectory, snapshotId } from './paths.ts';
import { openPromises } from './promises.ts';

/**
 * How much of the pool is promised, in bytes: an image counts as if it were not sparse, because a node may fill it; a
 * snapshot counts as what it has allocated, because nothing is ever written to it. Several processes on one machine
 * together promise no more than there is: what one has promised and not made yet, the others find on disk.
 */
export interface Room {
  readonly totalBytes: number;
  readonly freeBytes: number;
  /**
   * Counts the file, in place of what was counted for it; RESOURCE_EXHAUSTED, and it counts as before, when it does not
   * fit. The promise is kept on disk until `settle` or `free`. With `put` the file itself is made so at once, and is to
   * be undone by the caller when this fails.
   */
  take(path: string, sizeBytes: number, put?: () => void): void;
  /** The file is on disk and has this size now; the promise has been kept. */
  settle(path: string, sizeBytes: number): void;
  /** Counts the file no more. */
  free(path: string): void;
}

/**
 * Counts the files that are there. Without `capacityBytes` the pool is what the filesystem could hold now: its free
 * space and what the files have of it.
 */
export function createRoom(root: string, capacityBytes?: number): Room {
  const promises = openPromises(root);
  const count = openChangeCount(join(promises.directory, 'changes'));
  const found = scan(root);
  const totalBytes = capacityBytes ?? poolBytes(root, sum(found.map(({ allocatedBytes }) => allocatedBytes)));
  let sizes = new Map<string, number>();
  let usedBytes = 0;
  readAgain();

  /** What is on disk, or promised to be. */
  function readAgain(): void {
    count.look();
    // Promises first: one that is kept meanwhile is found as a file.
    const promised = promises.read();
    sizes = new Map(scan(root).map(({ path, promisedBytes }) => [path, promisedBytes]));
    for (const [path, bytes] of promised) sizes.set(path, Math.max(bytes, sizes.get(path) ?? 0));
    usedBytes = sum([...sizes.values()]);
  }

  function set(path: string, sizeBytes: number | undefined): void {
    usedBytes += (sizeBytes ?? 0) - (sizes.get(path) ?? 0);
    if (sizeBytes === undefined) sizes.delete(path);
    else sizes.set(path, sizeBytes);
  }

  return {
    totalBytes,
    get freeBytes() {
      if (!count.isCurrent()) readAgain();
      return Math.max(0, totalBytes - usedBytes);
    },
    take(path, sizeBytes, put = () => promises.make(path, sizeBytes)) {
      if (!count.isCurrent()) readAgain();
      const before = sizes.get(path);
      const grows = sizeBytes > (before ?? 0);
      if (grows) requireRoom(sizeBytes, totalBytes - usedBytes + (before ?? 0));
      put();
      set(path, sizeBytes);
      if (count.tell()) return;
      readAgain();
      if (!grows || usedBytes <= totalBytes) return;
      const leftBytes = totalBytes - usedBytes + sizeBytes;
      promises.keep(path);
      set(path, before);
      count.tell();
      requireRoom(sizeBytes, leftBytes);
    },
    settle(path, sizeBytes) {
      promises.keep(path);
      const isAsTold = sizes.get(path) === sizeBytes;
      set(path, sizeBytes);
      if (!isAsTold) count.tell();
    },
    free(path) {
      promises.keep(path);
      set(path, undefined);
      count.tell();
    },
  };
}

function requireRoom(neededBytes: number, leftBytes: number): void {
  if (neededBytes > leftBytes)
    throw new Problem(
      'RESOURCE_EXHAUSTED',
      `${neededBytes} bytes do not fit into the ${Math.max(0, leftBytes)} that are left`,
    );
}

type Found = { readonly path: string; readonly promisedBytes: number; readonly allocatedBytes: number };

function scan(root: string): readonly Found[] {
  const directory = snapshotDirectory(root);
  const volumes = namesIn(root).filter(name => imageId(name) !== undefined);
  const snapshots = namesIn(directory).filter(name => snapshotId(name) !== undefined);
  return [
    ...volumes.map(name => measure(join(root, name), 'image')),
    ...snapshots.map(name => measure(join(directory, name), 'snapshot')),
  ].filter(found => found !== undefined);
}

/** Undefined for one that was removed meanwhile. */
function measure(path: string, kind: 'image' | 'snapshot'): Found | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return undefined;
  const allocatedBytes = stats.blocks * 512;
  return { path, allocatedBytes, promisedBytes: kind === 'image' ? stats.size : allocatedBytes };
}

/** Files that share blocks show them each, so that together they may show more than the filesystem has in use. */
function poolBytes(root: string, allocatedBytes: number): number {
  const { blocks, bfree, bavail, bsize } = statfsSync(root);
  return bavail * bsize + Math.min(allocatedBytes, (blocks - bfree) * bsize);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
