import { exec, type ExecResult } from '../../../src/lib/exec.ts';

/** The slowest storage that a copy is waited for, in bytes per second, after a minute that every copy has. */
const slowestBytesPerSecond = 4 * 2 ** 20;
const leastCopyMs = 60_000;
const mostCopyMs = 2 ** 31 - 1;

/**
 * Runs a command that copies or writes back so many bytes: with a deadline that they set, and killed when this process
 * ends, however that happens. Where there is no setpriv, it runs to its end.
 */
export async function runCopying(
  command: string,
  args: readonly string[],
  neededBytes: number,
): Promise<ExecResult> {
  const wantedMs = leastCopyMs + Math.ceil(neededBytes / slowestBytesPerSecond) * 1_000;
  const timeoutMs = Math.min(wantedMs, mostCopyMs);
  const guarded = await exec('setpriv', ['--pdeathsig', 'KILL', '--', command, ...args], { timeoutMs });
  return guarded.missing ? exec(command, args, { timeoutMs }) : guarded;
}

/** How a command failed, to follow its name in a message. */
export function describeFailure({ status, timedOut, missing, fault }: ExecResult): string {
  if (missing) return 'is not installed';
  if (fault !== undefined) return `could not be started: ${fault}`;
  if (timedOut) return 'did not end in time';
  return status === undefined ? 'was killed' : `ended with status ${status}`;
}
