import { constants } from 'node:fs';
import { access, open, readFile, rename, statfs, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { clusterOf } from '../../../src/api/ids.ts';
import { invalidProblem, Problem, unavailableProblem } from '../../../src/api/problem.ts';
import { identityOf } from '../../../src/lib/directories.ts';
import type { ExecResult } from '../../../src/lib/exec.ts';
import type { HealthEntry, OwnerMark } from '../../backend.ts';

/** How long a gateway that ends may take to free the directory, in milliseconds. */
export const vacateTimeoutMs = 15_000;

/** True for what can be the id of a volume or snapshot: it names an entry of a directory and nothing else. */
export function isId(name: string): boolean {
  return clusterOf(name) !== undefined;
}

/** The id, or INVALID_ARGUMENT for what is none. */
export function requireId(id: string, noun: 'volume' | 'snapshot'): string {
  if (isId(id)) return id;
  throw invalidProblem(`"${id}" is not a ${noun} id`);
}

/** The system's code of an error. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error';
}

/** For `catch`: undefined for an error with this code. */
export function ignore(code: 'ENOENT' | 'EEXIST'): (error: unknown) => undefined {
  return error => {
    if (codeOf(error) !== code) throw error;
    return undefined;
  };
}

/** What went wrong with a file, by the system's code; `what` names it, such as `the image of volume "a.x"`. */
export function fileProblem(error: unknown, what: string): Problem {
  if (error instanceof Problem) return error;
  const code = codeOf(error);
  if (code === 'ENOENT') return new Problem('NOT_FOUND', `${what} is missing`, error);
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Problem('RESOURCE_EXHAUSTED', `the filesystem of the volumes is full (${code})`, error);
  if (code === 'EFBIG')
    return new Problem('OUT_OF_RANGE', 'the filesystem takes no files of so many bytes', error);
  return unavailableProblem(`cannot use ${what} (${code})`, error);
}

/** What went wrong with a command that did not succeed; `work` is what it was for, such as `remove "/a"`. */
export function commandProblem(command: string, work: string, result: ExecResult): Problem {
  const { status, timedOut, fault, stderr } = result;
  let reason = status === undefined ? 'was killed' : `ended with status ${status}`;
  if (timedOut) reason = 'did not end in time';
  if (fault !== undefined)
    reason = fault === 'ENOENT' ? 'is not installed' : `could not be started: ${fault}`;
  return unavailableProblem(`cannot ${work}: "${command}" ${reason}`, stderr);
}

/** Makes the entries of a directory durable, and gives it a mode; a link instead of it is refused. */
export async function syncDirectory(path: string, mode?: number): Promise<void> {
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  await using directory = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (mode !== undefined) await directory.chmod(mode);
  await directory.sync();
}

/**
 * Gives a file this content, for its owner alone, and returns once that is durable: after any crash it is the old one or the new
 * one, beside which half of a `.new` may be left.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
  await syncDirectory(dirname(path));
}

/**
 * What it gives throws UNAVAILABLE once the directory was moved or mounted over: what is missing at the path then is not
 * known to be gone.
 */
export function guardDirectory(path: string): () => void {
  const opened = identityOf(path);
  return () => {
    if (identityOf(path) !== opened)
      throw unavailableProblem(`"${path}" is no longer the directory that was opened`);
  };
}

/** The owner's mark in a directory, in a file that no volume's id can name. */
export function createOwnerMark(root: string): OwnerMark {
  const path = join(root, '.owner');
  return {
    read: () => readFile(path, 'utf8').catch(ignore('ENOENT')),
    write: mark => replaceFile(path, mark),
  };
}

/** What is wrong with a volume of which the `noun` cannot be read. */
export function readFault(error: unknown, noun: 'image' | 'directory', id: string): HealthEntry {
  const [code, what] = [codeOf(error), `the ${noun} of volume "${id}"`];
  const name = noun === 'image' ? 'Image' : 'Directory';
  if (code === 'ENOENT' || code === 'NOT_FOUND')
    return { status: 'DATA_LOSS', reason: `${name}Missing`, message: `${what} is missing` };
  const message = `${what} cannot be read (${code})`;
  return { status: 'INACCESSIBLE', reason: `${name}Unreadable`, message };
}

/** What is wrong with the filesystem below `root` for a volume that may still need so many bytes. */
export async function filesystemFaults(root: string, neededBytes: number): Promise<readonly HealthEntry[]> {
  const status = 'DEGRADED';
  const code = await access(root, constants.W_OK).then(() => undefined, codeOf);
  const { bavail, bsize } = await statfs(root);
  const freeBytes = bavail * bsize;
  const entries: HealthEntry[] = [];
  if (code !== undefined) {
    const message = `the filesystem of the volumes cannot be written (${code})`;
    entries.push({ status, reason: 'PoolReadOnly', message });
  }
  if (freeBytes < neededBytes) {
    const message = `the filesystem of the volumes has ${freeBytes} bytes free, and the volume may need more`;
    entries.push({ status, reason: freeBytes > 0 ? 'PoolTooSmall' : 'PoolFull', message });
  }
  return entries;
}
