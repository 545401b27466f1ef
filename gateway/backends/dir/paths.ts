import { constants, type Stats } from 'node:fs';
import { lstat, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { clusterOf } from '../../../src/api/ids.ts';
import { Problem } from '../../../src/api/problem.ts';

/** A volume's directory: always right below the root. */
export type VolumeDirectory = { readonly id: string; readonly path: string };

/** Where a volume's directory is, or would be. INVALID_ARGUMENT for what is no volume's id. */
export function volumeDirectory(root: string, id: string): VolumeDirectory {
  if (!isVolumeId(id)) throw new Problem('INVALID_ARGUMENT', `"${id}" is not a volume id`);
  return { id, path: join(root, id) };
}

/** True for what can be a volume's id: it names an entry of a directory and nothing else. */
export function isVolumeId(name: string): boolean {
  return clusterOf(name) !== undefined;
}

/** What is at a path, a symbolic link itself and not what it points at; undefined when nothing is. */
export async function statPath(path: string): Promise<Stats | undefined> {
  return lstat(path).catch(ignore('ENOENT'));
}

/** True when the volume's directory exists; FAILED_PRECONDITION for what is no directory, such as a symbolic link. */
export async function isThere({ id, path }: VolumeDirectory): Promise<boolean> {
  const found = await statPath(path);
  if (!found || found.isDirectory()) return found !== undefined;
  const kind = found.isSymbolicLink() ? 'a symbolic link' : 'not a directory';
  throw new Problem('FAILED_PRECONDITION', `"${path}" of volume "${id}" is ${kind}`);
}

/** Makes a directory of the backend's own, durable; one that exists is fine, anything else is FAILED_PRECONDITION. */
export async function ensureDirectory(path: string): Promise<void> {
  const isNew = await mkdir(path, { mode: 0o700 }).then(() => true, ignore('EEXIST'));
  if (!(await statPath(path))?.isDirectory())
    throw new Problem('FAILED_PRECONDITION', `"${path}" is not a directory`);
  if (isNew) await syncDirectory(dirname(path));
}

/** Makes a directory, durable, with exactly this mode, whatever the process masks; one that exists gets the mode. */
export async function makeDirectory(path: string, mode: number): Promise<void> {
  await mkdir(path, { mode }).catch(ignore('EEXIST'));
  await using directory = await openDirectory(path);
  await directory.chmod(mode);
  await directory.sync();
  await syncDirectory(dirname(path));
}

/** Makes the entries of a directory durable; a link in its place is refused. */
export async function syncDirectory(path: string): Promise<void> {
  await using directory = await openDirectory(path);
  await directory.sync();
}

/** For `catch`: undefined for an error with this code. */
export function ignore(code: string): (error: unknown) => undefined {
  return error => {
    if ((error as NodeJS.ErrnoException).code !== code) throw error;
    return undefined;
  };
}

function openDirectory(path: string) {
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}
