import { preconditionProblem, Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { ExecResult } from '../../src/lib/exec.ts';
import type { CommandLine } from '../filesystem.ts';
import type { Host } from '../host.ts';

/** A command that ran to its end. */
export type Ended = ExecResult & { readonly status: number };

/** Runs a command to its end, whatever its exit status; one that is missing or was killed is a `Problem`. */
export async function runToEnd(host: Host, line: CommandLine): Promise<Ended> {
  const result = await runIfInstalled(host, line);
  if (result) return result;
  throw preconditionProblem(`"${line.command}" is not installed on this node`);
}

/** As `runToEnd`, but undefined for a command that is missing. */
export async function runIfInstalled(
  host: Host,
  { command, args, timeoutMs, input, mute, opened }: CommandLine,
): Promise<Ended | undefined> {
  const result = await host.run(command, args, { timeoutMs, input, mute, opened });
  const { status } = result;
  if (result.fault === 'ENOENT') return undefined;
  if (result.fault !== undefined)
    throw unavailableProblem(`${show(command, args)} could not be started: ${result.fault}`);
  if (result.timedOut)
    throw new Problem('DEADLINE_EXCEEDED', `${show(command, args)} did not end in time and was killed`);
  if (status === undefined) throw unavailableProblem(`${show(command, args)} was killed`);
  return { ...result, status };
}

/** Runs a command that must end with status 0. */
export async function runWell(host: Host, line: CommandLine): Promise<Ended> {
  const result = await runToEnd(host, line);
  if (result.status !== 0) throw unavailableProblem(describeFailure(line, result));
  return result;
}

/** Makes sure that the kernel has a module; FAILED_PRECONDITION where it has none of that name. */
export async function requireModule(host: Host, name: string): Promise<void> {
  const directory = `/sys/module/${name}`;
  if ((await host.kindOf(directory)) !== 'nothing') return;
  const line = { command: 'modprobe', args: ['--quiet', '--', name] };
  const result = await runToEnd(host, line);
  if (result.status === 0 && (await host.kindOf(directory)) !== 'nothing') return;
  throw preconditionProblem(`the kernel of this node has no "${name}": "modprobe ${name}" does not help`);
}

/** What a command said when it failed, for people only: nothing is decided on it. */
export function describeFailure({ command, args }: CommandLine, { status, stderr }: Ended): string {
  const said = stderr.trim().split('\n', 1)[0] ?? '';
  return `${show(command, args)} ended with status ${status}${said === '' ? '' : `: ${said}`}`;
}

function show(command: string, args: readonly string[]): string {
  return `"${[command, ...args].join(' ')}"`;
}

/**
 * What the system refused on the way, such as EROFS or ENOSPC, as a `Problem` that says what was done, where, and how it
 * failed; anything else as it is.
 */
export function explainSystemError(error: unknown): unknown {
  if (error instanceof Problem || !(error instanceof Error)) return error;
  const { code, syscall, path } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return error;
  const where = path === undefined ? '' : ` of "${path}"`;
  return unavailableProblem(`"${syscall}"${where} failed on this node: ${code}`, error);
}
