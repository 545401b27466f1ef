import { reasonOf } from './words/failures.ts';
import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { constants, lstatSync, openSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { lockFile } from './linux/directory-lock.ts';
import type { Log } from './log.ts';

/**
 * The errors of connecting to a socket without a listener. A listener that ends at that moment resets the connection.
 */
const unanswered: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET']);

/** True when a process accepts connections on the socket; false when the socket is missing or stale. */
export async function isSocketAnswered(socketPath: string): Promise<boolean> {
  const socket = connect(socketPath);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    if (unanswered.has((error as NodeJS.ErrnoException).code)) return false;
    throw new Error(`cannot use socket "${socketPath}": ${reasonOf(error)}`, { cause: error });
  } finally {
    socket.destroy();
  }
}

/** The kernel's limit for the path of a UNIX socket. */
const maxPathBytes = 107;

/** The time to wait for another process that starts or ends in the same directory, in milliseconds. */
const lockTimeoutMs = 10_000;

/** Throws an error of one line if the path cannot have a socket. */
export function requireSocketPath(path: string): void {
  if (Buffer.byteLength(path) > maxPathBytes)
    throw new Error(`socket "${path}" has a path of more than ${maxPathBytes} bytes; use a shorter one`);
  const directory = dirname(path);
  if (!lstatSync(directory, { throwIfNoEntry: false }))
    throw new Error(`directory "${directory}" of socket "${path}" does not exist; create it`);
}

/**
 * Locks the directory of a socket while one is bound or removed there, so that a slow program does not remove
 * another's socket between its check and its next step. CSI allows no file beside the socket, so the lock is on the
 * directory itself. Any user who can read the directory can hold this lock for ever, so after 10 s the program
 * continues without it and logs this.
 */
export async function lockSocketDirectory(path: string, log: Log): Promise<() => void> {
  const directory = dirname(path);
  const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  const release = await lockFile(descriptor, `directory "${directory}"`, { waitMs: lockTimeoutMs, log });
  if (release) return release;
  log.warn("another process has held the lock on the socket's directory for 10 s; going on without it", {
    path: directory,
  });
  return () => {};
}

/** Removes a socket without a listener. Throws an error of one line when the path is in use. */
export async function clearSocketPath(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found && !found.isSocket()) throw new Error(`"${path}" exists and is not a socket`);
  const stale = fileIdentity(path);
  if (await isSocketAnswered(path)) throw new Error(`socket "${path}" is in use by a live instance`);
  if (stale !== undefined) removeSocket(path, stale);
}

/**
 * Removes the socket at the path if it has this identity; a socket that another program bound meanwhile stays. The
 * file is unlinked without a rename before, because kubelet deregisters a driver only when its socket is unlinked.
 */
export function removeSocket(path: string, identity: string): void {
  if (fileIdentity(path) === identity) rmSync(path, { force: true });
}

/** Makes a free name for a new socket beside this path. kubelet ignores names that begin with a dot. */
export function randomNameBeside(path: string): string {
  return join(dirname(path), `.${randomUUID().slice(0, 7)}`);
}

/** The identity of the file at a path. It differs even from a later file with the same name and inode. */
export function fileIdentity(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev} ${found.ino} ${found.birthtimeNs}`;
}
