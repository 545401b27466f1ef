import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { clusterOf } from '../../../src/api/ids.ts';
import { Problem } from '../../../src/api/problem.ts';

/** Where a volume's directory lies: always right below the root. INVALID_ARGUMENT for what is no volume's id. */
export function volumePath(root: string, id: string): string {
  return join(root, requireId(id));
}

/** Where the sizes are kept: a directory that no volume's id can name. */
export function sizeDirectory(root: string): string {
  return join(root, '.sizes');
}

/** Where a volume's size is kept: always right below `sizeDirectory`. */
export function sizePath(root: string, id: string): string {
  return join(sizeDirectory(root), requireId(id));
}

/** Where deleted volumes wait to be removed: a directory that no volume's id can name. */
export function trashDirectory(root: string): string {
  return join(root, '.trash');
}

/** A new name in the trash for a volume. */
export function trashName(id: string): string {
  return `${requireId(id)}.${randomBytes(8).toString('hex')}`;
}

/** The volume that something in the trash was, or undefined when it is something else. */
export function trashedId(name: string): string | undefined {
  const [, id] = /^(.+)\.[0-9a-f]{16}$/.exec(name) ?? [];
  return id !== undefined && isId(id) ? id : undefined;
}

/** True for what can be a volume's id, and so a volume's directory. */
export function isId(name: string): boolean {
  return clusterOf(name) !== undefined;
}

/** What lies at a path, a symbolic link itself and not what it points at; undefined when nothing does. */
export async function look(path: string): Promise<Stats | undefined> {
  return lstat(path).catch(ignore('ENOENT'));
}

/** The same of a volume's path; FAILED_PRECONDITION for what is there and no directory, such as a symbolic link. */
export async function lookAtVolume(root: string, id: string): Promise<Stats | undefined> {
  const found = await look(volumePath(root, id));
  if (!found || found.isDirectory()) return found;
  const what = found.isSymbolicLink() ? 'a symbolic link' : 'no directory';
  throw new Problem('FAILED_PRECONDITION', `what lies at the place of volume "${id}" is ${what}`);
}

/** For `catch`: undefined for an error with this code. */
export function ignore(code: string): (error: unknown) => undefined {
  return error => {
    if ((error as NodeJS.ErrnoException).code !== code) throw error;
    return undefined;
  };
}

function requireId(id: string): string {
  if (!isId(id)) throw new Problem('INVALID_ARGUMENT', `"${id}" is not a volume id`);
  return id;
}
