import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { clusterOf } from '../../../src/api/ids.ts';
import { Problem } from '../../../src/api/problem.ts';

/** A volume or a snapshot on disk. */
export type Item = {
  /** What its size, its drafts and its trash are named by: a volume's id, or a snapshot's after an `@`. */
  readonly name: string;
  readonly path: string;
  /** For messages, such as `volume "a.x"`. */
  readonly what: string;
};

/** A volume: always right below the root. INVALID_ARGUMENT for what is no volume's id. */
export function volumeItem(root: string, id: string): Item {
  requireId(id, 'volume');
  return { name: id, path: join(root, id), what: `volume "${id}"` };
}

/** A snapshot: always right below `snapshotDirectory`. INVALID_ARGUMENT for what is no snapshot's id. */
export function snapshotItem(root: string, id: string): Item {
  requireId(id, 'snapshot');
  return { name: `@${id}`, path: join(snapshotDirectory(root), id), what: `snapshot "${id}"` };
}

/** Where snapshots lie: a directory that no volume's id can name. */
export function snapshotDirectory(root: string): string {
  return join(root, '.snapshots');
}

/** Where copies are made: a directory that no volume's id can name. */
export function draftDirectory(root: string): string {
  return join(root, '.drafts');
}

/** Where the sizes are kept: a directory that no volume's id can name. */
export function sizeDirectory(root: string): string {
  return join(root, '.sizes');
}

/** Where deleted volumes wait to be removed: a directory that no volume's id can name. */
export function trashDirectory(root: string): string {
  return join(root, '.trash');
}

/** A new name in the trash for an item. */
export function trashName({ name }: Item): string {
  return `${name}.${randomBytes(8).toString('hex')}`;
}

/** The name of the item that something in the trash was, or undefined when it is something else. */
export function trashedName(entry: string): string | undefined {
  const [, name] = /^(.+)\.[0-9a-f]{16}$/.exec(entry) ?? [];
  return name !== undefined && isItemName(name) ? name : undefined;
}

/** True for what can be a volume's or a snapshot's id. */
export function isId(name: string): boolean {
  return clusterOf(name) !== undefined;
}

/** True for what can be the name of an item. */
export function isItemName(name: string): boolean {
  return isId(name) || snapshotIdOf(name) !== undefined;
}

/** The id of the snapshot that an item's name stands for; undefined for a volume's. */
export function snapshotIdOf(name: string): string | undefined {
  return name.startsWith('@') && isId(name.slice(1)) ? name.slice(1) : undefined;
}

/** What lies at a path, a symbolic link itself and not what it points at; undefined when nothing does. */
export async function look(path: string): Promise<Stats | undefined> {
  return lstat(path).catch(ignore('ENOENT'));
}

/** The same of an item's path; FAILED_PRECONDITION for what is there and no directory, such as a symbolic link. */
export async function lookAt({ path, what }: Item): Promise<Stats | undefined> {
  const found = await look(path);
  if (!found || found.isDirectory()) return found;
  const kind = found.isSymbolicLink() ? 'a symbolic link' : 'no directory';
  throw new Problem('FAILED_PRECONDITION', `what lies at the place of ${what} is ${kind}`);
}

/** For `catch`: undefined for an error with this code. */
export function ignore(code: string): (error: unknown) => undefined {
  return error => {
    if ((error as NodeJS.ErrnoException).code !== code) throw error;
    return undefined;
  };
}

function requireId(id: string, noun: string): void {
  if (!isId(id)) throw new Problem('INVALID_ARGUMENT', `"${id}" is not a ${noun} id`);
}
