import { reasonOf } from '../words/failures.ts';
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { poll, type PollResult } from '../concurrency.ts';
import type { Log } from '../log.ts';

/** The pause between two tries for a lock that another process holds, in milliseconds. */
const retryMs = 100;
/** Waits longer than this are logged, in milliseconds. */
const silentMs = 1_000;

/** The maximum wait for another process's lock in milliseconds (default 0), and the log of the wait. */
type DirectoryLockWait = { readonly waitMs?: number; readonly log?: Log | undefined };

/**
 * Locks a directory until the process ends or calls the result. Throws when another process holds the lock for
 * `waitMs`. The lock is on a file `.lock` in the directory that only its owner can open, so no other user can hold
 * it.
 */
export async function lockDirectory(
  directory: string,
  noun: string,
  wait: DirectoryLockWait = {},
): Promise<() => void> {
  const name = `${noun} "${directory}"`;
  const release = await lockFile(openPrivately(join(directory, '.lock'), name), name, wait);
  if (release) return release;
  throw new Error(`${name} is in use by a live process`);
}

/**
 * Locks an open file until the process ends or calls the result, which closes the file. Undefined when another
 * process holds the lock for `waitMs`.
 */
export async function lockFile(
  descriptor: number,
  name: string,
  { waitMs = 0, log }: DirectoryLockWait = {},
): Promise<(() => void) | undefined> {
  let isOpen = true;
  const release = (): void => {
    if (isOpen) closeSync(descriptor);
    isOpen = false;
  };
  const startMs = performance.now();
  let isLogged = false;
  const look = (): PollResult | undefined => {
    if (tryLock(descriptor)) return true;
    if (!isLogged && performance.now() - startMs >= silentMs) {
      isLogged = true;
      log?.info('another process holds a lock; waiting for it', { detail: name });
    }
    return undefined;
  };
  try {
    if (await poll(look, { everyMs: retryMs, timeoutMs: waitMs })) return release;
  } catch (error) {
    release();
    throw error;
  }
  release();
  return undefined;
}

/** Opens a file that only its owner can open, and creates it if it is missing. Throws when another user created it. */
function openPrivately(path: string, name: string): number {
  const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  let descriptor: number;
  try {
    // A descriptor for writing would prevent a read-only remount of the filesystem.
    descriptor = openSync(path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  } catch (error) {
    throw new Error(`cannot lock ${name}: cannot open "${path}": ${reasonOf(error)}`, { cause: error });
  }
  const found = fstatSync(descriptor);
  const isPrivate = found.isFile() && found.uid === process.geteuid?.() && (found.mode & 0o077) === 0;
  if (isPrivate) return descriptor;
  closeSync(descriptor);
  throw new Error(
    `cannot lock ${name}: "${path}" is not a file of this process's user with mode 0600; remove it`,
  );
}

/**
 * Tries the lock with a command, because Node.js has no flock(2). A lock on an inherited descriptor outlives the
 * command.
 */
function tryLock(descriptor: number): boolean {
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const { status, error, stderr } = spawnSync('flock', ['--exclusive', '--nonblock', '3'], {
    stdio: ['ignore', 'ignore', 'pipe', descriptor],
    encoding: 'utf8',
  });
  if (status !== 0 && status !== 1) throw error ?? new Error(`flock failed: ${stderr}`);
  return status === 0;
}
