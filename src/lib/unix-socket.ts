import { once } from 'node:events';
import { lstatSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { lockDirectory } from './directory-lock.ts';

/** How a connection fails on which nobody listens; it is reset by a listener that ends at that moment. */
const unanswered: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET']);

/** True when a process accepts connections on the socket; false when it is missing or left behind. */
export async function isSocketAnswered(socketPath: string): Promise<boolean> {
  const socket = connect(socketPath);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (unanswered.has(code)) return false;
    throw new Error(`cannot use socket "${socketPath}" (${code ?? message})`, { cause: error });
  } finally {
    socket.destroy();
  }
}

/** What the kernel takes for a UNIX socket's path. */
const maxPathBytes = 107;

/** How long another that starts or ends in the same directory is waited for, in milliseconds. */
const lockTimeoutMs = 10_000;

/**
 * Locks the directory of a socket, for as long as it takes to bind or to remove one there: else one program that was slow
 * between a look and what follows from it would rob another. Throws one line where no socket can be at the path.
 */
export async function lockSocketPath(path: string): Promise<() => void> {
  if (Buffer.byteLength(path) > maxPathBytes)
    throw new Error(`socket "${path}" has a path of more than ${maxPathBytes} bytes`);
  const directory = dirname(path);
  if (!lstatSync(directory, { throwIfNoEntry: false }))
    throw new Error(`directory "${directory}" of socket "${path}" does not exist`);
  return lockDirectory(directory, 'the directory of a socket,', lockTimeoutMs);
}

/** Removes a socket that nobody answers, in a locked directory; throws one line where the path is in use. */
export async function clearSocketPath(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found && !found.isSocket()) throw new Error(`"${path}" exists and is not a socket`);
  if (await isSocketAnswered(path)) throw new Error(`socket "${path}" is in use by a live instance`);
  rmSync(path, { force: true });
}

/** Tells the file at a path from every other, one of the same name and inode that came later included. */
export function fileIdentity(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev} ${found.ino} ${found.birthtimeNs}`;
}
