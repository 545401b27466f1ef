import { preconditionProblem, Problem, unavailableProblem } from '../../src/api/problem.ts';
import { failureText, reasonOfFault, type ExecResult } from '../../src/lib/exec.ts';
import { reasonOf } from '../../src/lib/words/failures.ts';
import type { CommandLine, Host } from '../host.ts';

export type CommandResult = ExecResult & { readonly status: number };

/** Runs a command to its end, with any exit status; throws a `Problem` if it is not installed or was killed. */
export async function runToEnd(host: Host, line: CommandLine): Promise<CommandResult> {
  const result = await runIfInstalled(host, line);
  if (result) return result;
  throw preconditionProblem(`"${line.command}" is not installed on this node`);
}

/** Runs a command like `runToEnd`, but returns undefined if it is not installed. */
export async function runIfInstalled(
  host: Host,
  { command, args, timeoutMs, input, mute, opened }: CommandLine,
): Promise<CommandResult | undefined> {
  const result = await host.run(command, args, { timeoutMs, input, mute, opened });
  const { status } = result;
  if (result.fault === 'ENOENT') return undefined;
  if (result.fault !== undefined)
    throw unavailableProblem(`${show(command, args)} could not be started: ${reasonOfFault(result.fault)}`);
  if (result.timedOut)
    throw new Problem('DEADLINE_EXCEEDED', `${show(command, args)} did not end in time and was killed`);
  if (status === undefined) throw unavailableProblem(`${show(command, args)} was killed`);
  return { ...result, status };
}

/** Runs a command; UNAVAILABLE unless it ends with status 0. */
export async function runWell(host: Host, line: CommandLine): Promise<CommandResult> {
  const result = await runToEnd(host, line);
  if (result.status !== 0) throw unavailableProblem(describeFailure(line, result));
  return result;
}

/** Loads a kernel module if needed; FAILED_PRECONDITION if the kernel does not have it. */
export async function requireModule(host: Host, name: string): Promise<void> {
  const directory = `/sys/module/${name}`;
  if ((await host.kindOf(directory)) !== 'nothing') return;
  const line = { command: 'modprobe', args: ['--quiet', '--', name] };
  const result = await runToEnd(host, line);
  if (result.status === 0 && (await host.kindOf(directory)) !== 'nothing') return;
  throw preconditionProblem(
    `the kernel of this node has no module "${name}", and "modprobe ${name}" cannot load it; install the module`,
  );
}

/** Describes the failure of a command. The text is for people only; no code may depend on it. */
export function describeFailure({ command, args }: CommandLine, { status, stderr }: CommandResult): string {
  const output = failureText(stderr);
  return `${show(command, args)} ended with status ${status}${output === '' ? '' : `: ${output}`}`;
}

function show(command: string, args: readonly string[]): string {
  return `"${[command, ...args].join(' ')}"`;
}

/**
 * Turns an error of the system, such as EROFS or ENOSPC, into a `Problem` with the system call, the path and the reason in
 * words; returns any other error unchanged.
 */
export function explainSystemError(error: unknown): unknown {
  if (error instanceof Problem || !(error instanceof Error)) return error;
  const { code, syscall, path } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return error;
  const where = path === undefined ? '' : ` of "${path}"`;
  return unavailableProblem(`"${syscall}"${where} failed on this node: ${reasonOf(error)}`, error);
}
