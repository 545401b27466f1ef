import { constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { createDirectories } from '../../../src/lib/directories.ts';
import { exec, type ExecResult } from '../../../src/lib/exec.ts';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { lockDirectory, lockFile } from '../../../src/lib/linux/directory-lock.ts';
import type { Log } from '../../../src/lib/log.ts';
import { vacateTimeoutMs } from '../files.ts';

/** The pool as a noun, such as `the thin pool`, the name of its commands, such as `LVM`, and the log of waits. */
type LockedPool = { readonly what: string; readonly commands: string; readonly log: Log };

/**
 * Locks a pool without a directory of its own against other gateways of this machine. Returns once no command of an
 * earlier gateway runs, and the path of the lock that commands hold. UNAVAILABLE while another one has the pool open: a first
 * start opens the pools twice, and the first opening of a slow one may still go on.
 */
export async function lockPool(name: string, { what, commands, log }: LockedPool) {
  // Not in /run/lock, where every user may make files.
  const directory = join('/run/fairlead', name);
  await createDirectories(directory);
  const wait = { waitMs: vacateTimeoutMs, log };
  const release = await lockDirectory(directory, what, wait).catch((error: unknown) => {
    throw unavailableProblem((error as Error).message, error);
  });
  const lockPath = join(directory, 'commands');
  const { O_CREAT, O_NOFOLLOW, O_RDONLY } = constants;
  const file = openSync(lockPath, O_RDONLY | O_CREAT | O_NOFOLLOW, 0o600);
  const free = await lockFile(file, `${what} "${lockPath}"`, wait);
  if (free) {
    free();
    return { lockPath, release };
  }
  release();
  throw unavailableProblem(
    `commands of ${commands} that an earlier gateway started still run; "lsof ${lockPath}" lists them`,
  );
}

/**
 * Runs a command that changes a pool. `flock` holds a shared lock of the file while the command runs, also when this
 * process was killed, so that the next gateway waits for the end of the command.
 */
export function execLocked(
  lockPath: string,
  command: readonly string[],
  timeoutMs: number,
): Promise<ExecResult> {
  return exec('flock', lockedArgs(lockPath, command), { timeoutMs });
}

/** The arguments of `flock` for such a command. */
export function lockedArgs(lockPath: string, command: readonly string[]): readonly string[] {
  return ['--shared', '--close', lockPath, ...command];
}
