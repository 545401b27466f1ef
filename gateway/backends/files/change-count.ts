import { closeSync, constants, openSync, statSync, writeSync } from 'node:fs';

/**
 * Lets processes that share a pool on one machine know that its content has changed, without a lock that a killed one
 * could leave behind: a file that grows by a byte with each change. Whoever tells of a change after it is on disk, and
 * then finds that nobody else has told of one, knows all that there is; of two at the same time the later one looks
 * again.
 */
export interface ChangeCount {
  /** True while nobody else has told of a change since this process last looked. */
  isCurrent(): boolean;
  /** To be called before the pool is read anew. */
  look(): void;
  /** Tells of a change that is on disk. True when it is the only one since this process last looked. */
  tell(): boolean;
}

/** The count at a path; a link in its place is refused. It holds nothing open. */
export function openChangeCount(path: string): ChangeCount {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  const flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW;
  const read = (): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  let seen = read();
  return {
    isCurrent: () => read() === seen,
    look: () => void (seen = read()),
    tell() {
      const fd = openSync(path, flags, 0o600);
      try {
        writeSync(fd, '.');
      } finally {
        closeSync(fd);
      }
      seen++;
      return read() === seen;
    },
  };
}
