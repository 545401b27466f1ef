import { lstatSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Problem } from '../../src/api/problem.ts';
import { codeOf } from './files.ts';

/**
 * Marks a file or directory as made for one record of the gateway. The mark is a link beside it that names the
 * record's nonce and the inode. The next sync of the directory makes the mark durable. A mark of a deleted file is
 * replaced. A file, even an empty one, that is marked for another record is ALREADY_EXISTS: if two records mark one
 * file at once, one of them succeeds.
 */
export function mark(path: string, nonce: string, { made = path, what }: MarkedFile): void {
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

/** The file's name in messages; `made` is its present path if it has not got its final path yet. */
type MarkedFile = { readonly what: string; readonly made?: string };

/** Removes a mark, unless it is missing or has another nonce. */
export function unmark(path: string, nonce?: string): void {
  if (isForeign(path, nonce)) return;
  try {
    unlinkSync(markOf(path));
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

/** ALREADY_EXISTS unless the file at the path was made for this nonce. An empty nonce accepts any file. */
export function requireMadeFor(path: string, nonce: string, what: string): void {
  if (nonce === '' || readMark(path) === textOf(nonce, path)) return;
  throw existsProblem(what);
}

/** The time of the mark at the path, in milliseconds since the epoch. */
export function markedAtMs(path: string): number {
  return Math.round(lstatSync(markOf(path)).mtimeMs);
}

function existsProblem(what: string): Problem {
  return new Problem('ALREADY_EXISTS', `${what} already exists for another record`);
}

/** NOT_FOUND when the file at the path was made for another nonce. */
export function requireNotForeign(path: string, nonce: string | undefined, what: string): void {
  if (isForeign(path, nonce))
    throw new Problem('NOT_FOUND', `${what} is missing: another record has its name`);
}

/** True when the mark at the path has another nonce. A file without a mark is not foreign. */
export function isForeign(path: string, nonce = ''): boolean {
  if (nonce === '') return false;
  const [owner] = readMark(path)?.split(' ') ?? [];
  return owner !== undefined && owner !== nonce;
}

/** True for a file that was marked for any record. */
export function isMarked(path: string): boolean {
  const [nonce = ''] = readMark(path)?.split(' ') ?? [];
  return nonce !== '' && readMark(path) === textOf(nonce, path);
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
