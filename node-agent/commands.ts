import { Problem } from '../src/api/problem.ts';
import type { ExecResult } from '../src/lib/exec.ts';
import type { CommandLine } from './filesystem.ts';
import type { Host } from './host.ts';

/** A command that ran to its end. */
export type Ended = ExecResult & { readonly status: number };

/** Runs a command to its end, whatever its exit status; one that is missing or was killed is a `Problem`. */
export async function runToEnd(host: Host, { command, args, timeoutMs }: CommandLine): Promise<Ended> {
  const result = await host.run(command, args, { timeoutMs });
  const { status } = result;
  if (result.missing) throw new Problem('FAILED_PRECONDITION', `"${command}" is not installed on this node`);
  if (result.timedOut)
    throw new Problem('DEADLINE_EXCEEDED', `${show(command, args)} did not end in time and was killed`);
  if (status === undefined) throw new Problem('UNAVAILABLE', `${show(command, args)} was killed`);
  return { ...result, status };
}

/** Runs a command that must end with status 0. */
export async function runWell(host: Host, line: CommandLine): Promise<Ended> {
  const result = await runToEnd(host, line);
  if (result.status !== 0) throw new Problem('UNAVAILABLE', describeFailure(line, result));
  return result;
}

/** What a command said when it failed, for people only: nothing is decided on it. */
export function describeFailure({ command, args }: CommandLine, { status, stderr }: Ended): string {
  const said = stderr.trim().split('\n', 1)[0] ?? '';
  return `${show(command, args)} ended with status ${status}${said === '' ? '' : `: ${said}`}`;
}

function show(command: string, args: readonly string[]): string {
  return `"${[command, ...args].join(' ')}"`;
}
