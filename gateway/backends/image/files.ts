import { closeSync, constants, fsync, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { Problem } from '../../../src/api/problem.ts';

/** A directory whose entries can be made durable. */
export interface Directory {
  /** Makes the entries durable; calls at about the same time share one fsync. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

const syncFile = promisify(fsync);

/** Opens a directory; a link in its place is refused. */
export function openDirectory(path: string): Directory {
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  let syncing: Promise<void> | undefined;
  return {
    sync() {
      syncing ??= new Promise(setImmediate).then(() => {
        syncing = undefined;
        return syncFile(fd);
      });
      return syncing;
    },
    async close() {
      await syncing?.catch(() => {});
      closeSync(fd);
    },
  };
}

/** The size of a file; undefined when it is missing. */
export async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(ignoreMissing))?.size;
}

/** The bytes that a file has on disk; none when it is missing. */
export async function allocatedBytes(path: string): Promise<number> {
  return ((await stat(path).catch(ignoreMissing))?.blocks ?? 0) * 512;
}

/** For `catch`: undefined when the file is missing. */
export function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  return undefined;
}

/** What went wrong with a file, by the system's code; `what` names it, such as `the image of volume "a.x"`. */
export function toProblem(error: unknown, what: string): Problem {
  if (error instanceof Problem) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return new Problem('NOT_FOUND', `${what} is missing`, error);
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Problem('RESOURCE_EXHAUSTED', `the filesystem of the images is full (${code})`, error);
  if (code === 'EFBIG')
    return new Problem('OUT_OF_RANGE', 'the filesystem of the images takes no files of so many bytes', error);
  return new Problem('UNAVAILABLE', `cannot make ${what} (${code ?? 'unknown error'})`, error);
}
