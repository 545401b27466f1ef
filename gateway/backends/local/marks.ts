import { lstatSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { codeOf } from './files.ts';

/**
 * Records beside a file or directory for which record of the gateway it was made: a link that names the record's nonce
 * and the inode. The directory's next sync makes it durable. A mark of what is gone is replaced.
 */
export function mark(path: string, nonce: string, made: string = path): void {
  if (nonce === '') return;
  const text = textOf(nonce, made);
  try {
    symlinkSync(text, markOf(path));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    unmark(path);
    symlinkSync(text, markOf(path));
  }
}

/** Removes the mark; a missing one is fine. */
export function unmark(path: string): void {
  try {
    unlinkSync(markOf(path));
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

/** ALREADY_EXISTS unless what has the path was made for this nonce; an empty one takes whatever is there. */
export function requireMadeFor(path: string, nonce: string, what: string): void {
  if (nonce === '' || readMark(path) === textOf(nonce, path)) return;
  throw new Problem('ALREADY_EXISTS', `${what} exists, and was not made for this one`);
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
