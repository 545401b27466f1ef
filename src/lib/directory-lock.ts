import { randomUUID } from 'node:crypto';
import { closeSync, constants, linkSync, lstatSync, openSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { pause } from './concurrency.ts';
import { isSocketAnswered } from './unix-socket.ts';

/** How often a directory that is in use is looked at again, in milliseconds. */
const retryMs = 100;

/** The sockets of those who hold the directory, or held it: `lock.7` comes after `lock.6`. */
const numbered = /^lock\.(\d{1,15})$/;
/** A socket that listens and is not yet numbered. */
const draft = /^lock-[0-9a-f]{8}$/;

/**
 * Makes this process the only one that works in a directory, until it ends or calls what is returned. Throws one line
 * when another live one is there and stays for `waitMs`, `what` being what the directory is called in it; one that was
 * killed is not there. It holds among processes that share the directory alone, in containers of their own as well.
 *
 * Whoever holds it has the highest number, and its socket answers. A number is given once and after the one before is
 * dead, and a socket listens before it has one, so that no live one is ever taken for dead.
 */
export async function lockDirectory(directory: string, what: string, waitMs = 0): Promise<() => void> {
  const deadlineMs = Date.now() + waitMs;
  for (;;) {
    const release = await tryLock(directory);
    if (release) return release;
    if (Date.now() >= deadlineMs) throw new Error(`${what} "${directory}" is in use by a live process`);
    await pause(retryMs);
  }
}

/** Undefined when another live process holds it. */
async function tryLock(directory: string): Promise<(() => void) | undefined> {
  // Left open: a path by its descriptor is short, however long the directory's own name is.
  const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  const at = `/proc/self/fd/${descriptor}`;
  const own = `lock-${randomUUID().slice(0, 8)}`;
  const server = createServer(socket => socket.destroy()).unref();
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject).listen(`${at}/${own}`, resolve);
  });
  const release = (): void => {
    if (!server.listening) return;
    server.close();
    closeSync(descriptor);
  };
  try {
    for (let isHeld = false; !isHeld;) {
      const last = findLast(at);
      const path = `${at}/lock.${last}`;
      if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === false)
        throw new Error(`"${directory}/lock.${last}" exists and is not a socket`);
      if (last > 0 && (await isSocketAnswered(path))) {
        release();
        return undefined;
      }
      isHeld = takeNumber(at, own, last + 1);
    }
    await sweep(at);
    return release;
  } catch (error) {
    release();
    // Its draft was taken for dead by one that holds the directory.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The highest number; 0 when there is none. */
function findLast(at: string): number {
  return Math.max(0, ...readdirSync(at).map(name => Number(numbered.exec(name)?.[1] ?? 0)));
}

/** False when another one was faster. */
function takeNumber(at: string, own: string, number: number): boolean {
  try {
    linkSync(`${at}/${own}`, `${at}/lock.${number}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
  // The number may have been given and swept away meanwhile: then there is a higher one.
  if (findLast(at) === number) return true;
  rmSync(`${at}/lock.${number}`);
  return false;
}

/** Removes what those before left, by the one who holds the directory. */
async function sweep(at: string): Promise<void> {
  const last = `lock.${findLast(at)}`;
  const own = lstatSync(`${at}/${last}`).ino;
  for (const name of readdirSync(at)) {
    if (name === last || !(numbered.test(name) || draft.test(name))) continue;
    const found = lstatSync(`${at}/${name}`, { throwIfNoEntry: false });
    const isLeft = found?.ino === own || (found?.isSocket() && !(await isSocketAnswered(`${at}/${name}`)));
    if (isLeft) rmSync(`${at}/${name}`, { force: true });
  }
}
