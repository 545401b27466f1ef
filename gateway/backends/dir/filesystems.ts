import { lstatSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { preconditionProblem } from '../../../src/api/problem.ts';
import { shareRuns } from '../../local/files.ts';

/** A copy of a volume or snapshot. In messages its name is `what`. */
export type Copy = {
  readonly source: string;
  readonly target: string;
  readonly nonce: string;
  readonly readonly: boolean;
  readonly what: string;
};

/** Filesystems that copy a directory at one instant: each volume and each snapshot has one of its own. */
export interface Filesystems {
  /** Removes the leftovers of interrupted calls. */
  removeLeftovers(): Promise<void>;
  /** True if the path, which may be missing, has a filesystem of its own. */
  has(path: string): Promise<boolean>;
  /** Makes an empty filesystem at the path. A directory that is in use already stays as it is. */
  create(path: string): Promise<void>;
  /**
   * Copies a filesystem as it is at one instant. A copy with a name is complete. A target that exists already stays;
   * it is ALREADY_EXISTS when it was made for another record.
   */
  copy(copy: Copy): Promise<void>;
  /** Removes the filesystem at the path in one step, if there is one. Its copies stay. */
  remove(path: string): Promise<void>;
}

/** Limits the space of directories. */
export interface Quota {
  /**
   * Sets the limit of a directory. A directory without a limit gets one only while it is new and empty: files that are
   * in it already would not count. Safe to run again.
   */
  limit(path: string, bytes: number, options: { readonly isNew: boolean }): Promise<void>;
  /** Returns the function that frees the records of the limit, for the time when the directory is gone. */
  releaseOf?(path: string): Promise<() => Promise<unknown>>;
}

/** False if the path is missing; FAILED_PRECONDITION if it is not a directory, such as a symbolic link. */
export function hasDirectory(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found || found.isDirectory()) return found !== undefined;
  throw preconditionProblem(`"${path}" is not a directory`);
}

/** Reads the text of mountinfo. Concurrent calls share a read. */
export const readMountinfo: () => Promise<string> = shareRuns(() => readFile('/proc/self/mountinfo', 'utf8'));
