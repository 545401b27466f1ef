import { constants } from 'node:fs';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { Problem } from '../../../src/api/problem.ts';
import { ignore, look } from './paths.ts';

/** Makes the entries of a directory durable; a link in its place is refused. */
export async function syncDirectory(path: string): Promise<void> {
  await using directory = await openDirectory(path);
  await directory.sync();
}

/** Makes a directory of the backend's own, durable; one that is there is fine, anything else is refused. */
export async function ensureDirectory(path: string, parent: string): Promise<void> {
  const isNew = await mkdir(path, { mode: 0o700 }).then(() => true, ignore('EEXIST'));
  if (!(await look(path))?.isDirectory())
    throw new Problem('FAILED_PRECONDITION', `"${path}" is no directory`);
  if (isNew) await syncDirectory(parent);
}

/** Makes a directory, durable, with exactly this mode, whatever the process masks; one that is there gets the mode. */
export async function makeDirectory(path: string, parent: string, mode: number): Promise<void> {
  await mkdir(path, { mode }).catch(ignore('EEXIST'));
  await using directory = await openDirectory(path);
  await directory.chmod(mode);
  await directory.sync();
  await syncDirectory(parent);
}

function openDirectory(path: string): Promise<FileHandle> {
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/** What went wrong with a directory, told by the system's code; `what` names it. */
export function toProblem(error: unknown, what: string): Problem {
  if (error instanceof Problem) return error;
  const { code = 'unknown error' } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Problem('RESOURCE_EXHAUSTED', `the filesystem of the volumes is full (${code})`, error);
  return new Problem('UNAVAILABLE', `cannot make ${what} (${code})`, error);
}
