import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { linkSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';

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

/** Removes a socket that nobody answers; throws one line where the path is in use or can hold no socket. */
export async function clearSocketPath(path: string): Promise<void> {
  if (Buffer.byteLength(path) > maxPathBytes)
    throw new Error(`socket "${path}" has a path of more than ${maxPathBytes} bytes`);
  const directory = dirname(path);
  if (!lstatSync(directory, { throwIfNoEntry: false }))
    throw new Error(`directory "${directory}" of socket "${path}" does not exist`);
  const found = lstatSync(path, { throwIfNoEntry: false });
  const seen = fileIdentity(path);
  if (found && !found.isSocket()) throw new Error(`"${path}" exists and is not a socket`);
  if (await isSocketAnswered(path)) throw new Error(`socket "${path}" is in use by a live instance`);
  if (seen !== undefined) removeDead(path, seen);
}

/** Of several that find one dead socket, one takes it away; who takes a newer one, which may be alive, gives it back. */
function removeDead(path: string, identity: string): void {
  const taken = join(dirname(path), `.${randomUUID().slice(0, 7)}`);
  try {
    renameSync(path, taken);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    if (fileIdentity(taken) === identity) return;
    linkSync(taken, path);
    throw new Error(`socket "${path}" is in use by a live instance`);
  } finally {
    rmSync(taken, { force: true });
  }
}

/** Tells the file at a path from every other, one of the same name and inode that came later included. */
export function fileIdentity(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev} ${found.ino} ${found.birthtimeNs}`;
}
