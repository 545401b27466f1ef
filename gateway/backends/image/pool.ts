import { openDirectory, type Directory } from './directory.ts';
import { openDrafts, type Drafts } from './drafts.ts';
import { createRoom, type Room } from './room.ts';

/** The directory of the images and what is known of it. */
export type Pool = {
  readonly root: string;
  readonly directory: Directory;
  readonly drafts: Drafts;
  readonly room: Room;
};

/** Opens the pool in an existing directory: what dead processes left half copied is removed, what is there counted. */
export function openPool(root: string, capacityBytes?: number): Pool {
  const drafts = openDrafts(root);
  return { root, drafts, room: createRoom(root, capacityBytes), directory: openDirectory(root) };
}
