import { lstatSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { codeOf } from './files.ts';

/**
 * Marks a file or directory as made for one record of the gateway, by a link beside it that names the record's nonce
 * and the inode. The directory's next sync makes the mark durable. The mark of a file that was deleted is replaced. A file
 * that is marked for another record, even an empty one, is ALREADY_EXISTS: of two that mark it at once, one succeeds.
 */
export function mark(path: string, nonce: string, { made = path, what }: Marked): void {
  if (nonce === '') return;
  const text = textOf(nonce, made);
  try {
    symlinkSync(text, markOf(path));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    const found = readMark(path);
    if (found === text) return;
    if (found?.split(' ')[1] === text.split(' ')[1]) throw existsProblem(what);
    unmark(path);
    symlinkSync(text, markOf(path));
  }
}

/** What is marked, for messages; `made` is where it lies until it gets its path. */
type Marked = { readonly what: string; readonly made?: string };

/** Removes the mark; a missing one is fine, and one of another nonce stays. */
export function unmark(path: string, nonce?: string): void {
  if (isAnothers(path, nonce)) return;
  try {
    unlinkSync(markOf(path));
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

/** ALREADY_EXISTS unless what has the path was made for this nonce; an empty one takes whatever is there. */
export function requireMadeFor(path: string, nonce: string, what: string): void {
  if (nonce === '' || readMark(path) === textOf(nonce, path)) return;
  throw existsProblem(what);
}

function existsProblem(what: string): Problem {
  return new Problem('ALREADY_EXISTS', `${what} exists, and was not made for this one`);
}

/** NOT_FOUND when what has the path was made for another nonce. */
export function requireNotAnothers(path: string, nonce: string | undefined, what: string): void {
  if (isAnothers(path, nonce)) throw new Problem('NOT_FOUND', `${what} is missing: another has its name`);
}

/** True when a mark says that what has the path was made for another nonce; what carries no mark is nobody else's. */
export function isAnothers(path: string, nonce = ''): boolean {
  const [owner] = readMark(path)?.split(' ') ?? [];
  return nonce !== '' && owner !== undefined && owner !== nonce;
}

function markOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.made`);
}

function textOf(nonce: string, path: string): string {
  return `${nonce} ${lstatSync(path, { bigint: true }).ino}`;
}

function readMark(path: string): string | undefined {
  try {
    return readlinkSync(markOf(path));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
