import { openDirectory, type Directory } from './directory.ts';
import { openDrafts, type Drafts } from './drafts.ts';
import { largestFileBytes } from './largest.ts';
import { createRoom, type Room } from './room.ts';

/** The directory of the images and what is known of it. */
export type Pool = {
  readonly root: string;
  readonly directory: Directory;
  readonly drafts: Drafts;
  readonly room: Room;
  /** More than this no image can have. */
  readonly largestBytes: number;
};

/** Every size is a whole number of these, in bytes; it is the least size too. */
export const stepBytes = 2 ** 20;

/** Opens the pool in an existing directory: what dead processes left half copied is removed, what is there counted. */
export function openPool(root: string, capacityBytes?: number): Pool {
  const drafts = openDrafts(root);
  const room = createRoom(root, capacityBytes);
  const largestBytes = largestFileBytes(root, room.totalBytes, stepBytes);
  return { root, drafts, room, largestBytes, directory: openDirectory(root) };
}
