import { closeSync, constants, openSync } from 'node:fs';
import { poll } from './concurrency.ts';

/** How often a directory that is in use is looked at again, in milliseconds. */
const retryMs = 100;

/** Locks a directory until the process ends or calls the result; throws when another has it for `waitMs`. */
export async function lockDirectory(directory: string, what: string, waitMs = 0): Promise<() => void> {
  const own = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  let descriptor: number | undefined = own;
  const release = (): void => {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
  };
  const look = (): true | undefined => tryLock(own) || undefined;
  try {
    if (await poll(look, { everyMs: retryMs, timeoutMs: waitMs })) return release;
    throw new Error(`${what} "${directory}" is in use by a live process`);
  } catch (error) {
    release();
    throw error;
  }
}

/** Node.js has no flock(2); what a command locks through a descriptor that it inherits stays locked after its end. */
function tryLock(descriptor: number): boolean {
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const { status, error, stderr } = spawnSync('flock', ['--exclusive', '--nonblock', '3'], {
    stdio: ['ignore', 'ignore', 'pipe', descriptor],
    encoding: 'utf8',
  });
  if (status !== 0 && status !== 1) throw error ?? new Error(`flock failed: ${stderr}`);
  return status === 0;
}
