import { nameOfCode, reasonOf } from '../../src/lib/words/failures.ts';
import { closeSync, constants, fchmodSync, fchownSync, fsync, openSync } from 'node:fs';
import { access, readFile, rename, statfs, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { clusterOf } from '../../src/api/ids.ts';
import { invalidProblem, Problem, unavailableProblem, withOutage } from '../../src/api/problem.ts';
import { identityOf } from '../../src/lib/directories.ts';
import { failureText, reasonOfFault, type ExecResult } from '../../src/lib/exec.ts';
import type { HealthEntry, OwnerMark } from '../backend.ts';

/** The time for a gateway that ends to unlock its directory, in milliseconds. */
export const vacateTimeoutMs = 15_000;

/** True for a valid id of a volume or snapshot. Such an id names one entry of a directory, and no path. */
export function isId(name: string): boolean {
  return clusterOf(name) !== undefined;
}

export function requireId(id: string, noun: 'volume' | 'snapshot'): string {
  if (isId(id)) return id;
  throw invalidProblem(`"${id}" is not a ${noun} id; use CLUSTER.NAME`);
}

export function codeOf(error: unknown): string {
  return nameOfCode((error as NodeJS.ErrnoException).code ?? 'unknown error');
}

/** Makes a handler for `catch` that returns undefined for errors with this code. */
export function ignore(code: 'ENOENT' | 'EEXIST'): (error: unknown) => undefined {
  return error => {
    if (codeOf(error) !== code) throw error;
    return undefined;
  };
}

/** Makes a problem of a file's error code; `name` is the file, such as `the image of volume "a.x"`. */
export function fileProblem(error: unknown, name: string): Problem {
  if (error instanceof Problem) return error;
  const code = codeOf(error);
  if (code === 'ENOENT') return new Problem('NOT_FOUND', `${name} is missing`, error);
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Problem('RESOURCE_EXHAUSTED', 'the filesystem of the volumes is full', error);
  if (code === 'EFBIG')
    return new Problem('OUT_OF_RANGE', `${name} would exceed the maximum file size of the filesystem`, error);
  return unavailableProblem(`cannot use ${name}: ${reasonOf(error)}`, error);
}

/**
 * Makes a problem of a failed command, with the last line of its error output; `work` names the purpose, such as
 * `remove "/a"`.
 */
export function commandProblem(command: string, work: string, result: ExecResult): Problem {
  const { status, timedOut, fault, stderr } = result;
  let reason = status === undefined ? 'was killed' : `ended with status ${status}`;
  if (timedOut) reason = 'did not end in time';
  if (fault !== undefined)
    reason = fault === 'ENOENT' ? 'is not installed' : `could not be started: ${reasonOfFault(fault)}`;
  const output = fault === undefined ? failureText(stderr) : '';
  const problem = unavailableProblem(
    `cannot ${work}: "${command}" ${reason}${output === '' ? '' : `: ${output}`}`,
  );
  return withOutage(problem, timedOut ? 'silent' : undefined);
}

/** Lists a directory in pieces: a pool may have very many entries, and sometimes the first is enough. */
export const listing = { bufferSize: 1_000 } as const;

/** Makes a file's content, or a directory's entries, durable. */
export const syncFile = promisify(fsync);

/** The id that leaves an owner or a group as it is (chown(2)). */
const unchanged = -1;

/** The mode of a directory, and its owner and group where they differ from the gateway's own. */
export type Access = { readonly mode: number; readonly uid?: number; readonly gid?: number };

/** Makes the entries of a directory durable, and sets its access if given. Fails for a symbolic link. */
export async function syncDirectory(path: string, wanted?: Access): Promise<void> {
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    if (wanted) {
      const { mode, uid = unchanged, gid = unchanged } = wanted;
      fchownSync(fd, uid, gid);
      // A change of the owner may clear bits of the mode.
      fchmodSync(fd, mode);
    }
    await syncFile(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Makes a function whose callers share runs of the work. Each call gets the result of a run that begins after the
 * call. At most one run is in progress, so all callers meanwhile share the next one.
 */
export function shareRuns<T>(work: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  const begin = async (): Promise<T> => {
    // Callers of the same iteration of the event loop join.
    await new Promise(setImmediate);
    next = undefined;
    return work();
  };
  return () => {
    if (!next) last = next = last.then(begin, begin);
    return next;
  };
}

/**
 * Replaces a file's content durably, for its owner alone. After any crash the file has the old content or the new. A
 * crash may leave a part of a `.new` file beside it.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants;
  const flag = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW;
  await writeFile(`${path}.new`, text, { mode: 0o600, flush: true, flag });
  await rename(`${path}.new`, path);
  await syncDirectory(dirname(path));
}

/**
 * Makes a check that throws UNAVAILABLE once the directory was moved or mounted over. An entry that is missing at the
 * path then is not known to be removed.
 */
export function guardDirectory(path: string): () => void {
  const opened = identityOf(path);
  return () => {
    if (identityOf(path) !== opened)
      throw unavailableProblem(`"${path}" is no longer the directory that was opened`);
  };
}

/** The owner mark of a directory, in a file whose name no volume's id can have. */
export function createOwnerMark(root: string): OwnerMark {
  const path = join(root, '.owner');
  return {
    read: () => readFile(path, 'utf8').catch(ignore('ENOENT')),
    write: mark => replaceFile(path, mark),
  };
}

/** Reports that the `noun` of a volume cannot be read. */
export function readFault(error: unknown, noun: 'image' | 'directory', id: string): HealthEntry {
  const [code, what] = [codeOf(error), `the ${noun} of volume "${id}"`];
  const name = noun === 'image' ? 'Image' : 'Directory';
  if (code === 'ENOENT' || code === 'NOT_FOUND')
    return { status: 'DATA_LOSS', reason: `${name}Missing`, message: `${what} is missing` };
  const message = `${what} cannot be read: ${reasonOf(error)}`;
  return { status: 'INACCESSIBLE', reason: `${name}Unreadable`, message };
}

/** The free bytes of a filesystem that is as good as full: ZFS, for example, never gives its last blocks away. */
export const fullBytes: number = 2 ** 20;

/** Reports the faults of the filesystem below `root` for a volume that may still need `neededBytes`. */
export async function filesystemFaults(root: string, neededBytes: number): Promise<readonly HealthEntry[]> {
  const status = 'DEGRADED';
  const reason = await access(root, constants.W_OK).then(() => undefined, reasonOf);
  const { bavail, bsize } = await statfs(root);
  const freeBytes = bavail * bsize;
  const entries: HealthEntry[] = [];
  if (reason !== undefined) {
    const message = `the filesystem of the volumes cannot be written: ${reason}`;
    entries.push({ status, reason: 'PoolReadOnly', message });
  }
  if (freeBytes < neededBytes) {
    const message = `the filesystem of the volumes has ${freeBytes} bytes free, and the volume may need more`;
    entries.push({ status, reason: freeBytes < fullBytes ? 'PoolFull' : 'PoolTooSmall', message });
  }
  return entries;
}
