import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { withinTime } from './concurrency.ts';
import { reasonOf } from './words/failures.ts';

/** The outcome of a command. `status` is its exit status; undefined when a signal or the deadline ended it. */
export type ExecResult = {
  readonly status: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** True if the deadline passed, and the whole process group was killed. */
  readonly timedOut: boolean;
  /** The system's error code if the command could not be started; ENOENT if it is not installed. */
  readonly fault?: string;
  /** Set for a command that could not be killed and was left behind; resolves once it has ended. */
  readonly gone?: Promise<void>;
};

/**
 * `timeoutMs` limits the whole run. `stdin` is written and closed (default: empty). The standard output of a `mute`
 * command is dropped; otherwise the first `maxOutput` characters of standard output are returned, and always the last
 * of standard error. The command inherits `descriptors` of this process, from 3 on. It gets an `environment` from
 * `environmentWith` (default: this process's).
 */
type ExecOptions = {
  readonly timeoutMs: number;
  readonly stdin?: string;
  readonly mute?: boolean;
  readonly maxOutput?: number;
  readonly descriptors?: readonly number[];
  readonly environment?: NodeJS.ProcessEnv;
};

/** The time for a killed group to end before it is left behind, in milliseconds. */
const graceMs = 1_000;
/** The default of `maxOutput`, in characters. */
const defaultMaxOutput = 64 * 1024;

/** The maximum descriptors during a start: a pair for each of three streams, and one that reports the outcome. */
const descriptorsOfStart = 8;

/** The environment at the start of this process, because each reading costs as much as a call. */
const inherited = environmentWith(process.env);

/** True once a start has failed for lack of descriptors. Each later start then checks for enough of them. */
let wasShort = false;

let abandoned = 0;

/** Counts the children of this process that were killed but have not ended. */
export function countAbandoned(): number {
  return abandoned;
}

/**
 * Runs one command without a shell; never rejects. At the deadline it is killed with its children as a group. A
 * command that cannot be killed (uninterruptible sleep) is left behind.
 */
export async function exec(
  command: string,
  args: readonly string[],
  {
    timeoutMs,
    stdin,
    mute = false,
    maxOutput = defaultMaxOutput,
    descriptors = [],
    environment = inherited,
  }: ExecOptions,
): Promise<ExecResult> {
  const child = await start(command, args, {
    env: environment,
    stdio: [stdin === undefined ? 'ignore' : 'pipe', mute ? 'ignore' : 'pipe', 'pipe', ...descriptors],
  });
  if (typeof child === 'string') {
    const stderr = `could not be started: ${reasonOfFault(child)}`;
    return { status: undefined, stdout: '', stderr, timedOut: false, fault: child };
  }
  child.stdin?.on('error', () => {}).end(stdin ?? '');
  const [stdout, stderr] = [collect(child.stdout, maxOutput), collectEnd(child.stderr, maxOutput)];
  const closed = new Promise<void>(resolve => child.once('close', () => resolve()));
  const inTime = await withinTime(closed, timeoutMs);
  if (!inTime) killGroup(child.pid);
  const isOver = inTime ?? (await withinTime(closed, graceMs)) ?? release(child);
  return {
    status: child.exitCode ?? undefined,
    stdout: stdout(),
    stderr: stderr(),
    timedOut: !inTime,
    ...(!isOver && { gone: countUntil(closed) }),
  };
}

/** The faults that mean something else for a command than for a file. */
const startFaults: Readonly<Record<string, string>> = {
  ENOENT: 'it is not installed',
  EINVAL: 'an argument contains NUL',
  E2BIG: 'its arguments are longer than the system allows',
  ENOEXEC: 'it is no program for this machine',
  EACCES: 'permission denied',
  EMFILE: 'this process has too many open files',
  ENFILE: 'this machine has too many open files',
  EAGAIN: 'the maximum number of processes is running; end some, or raise the limit',
};

/** Says in words why a command could not be started, from its `fault`. */
export function reasonOfFault(fault: string): string {
  return startFaults[fault] ?? reasonOf(Object.assign(new Error(''), { code: fault }));
}

/** The maximum lines, and characters, of a tool's error output in a message. */
const maxLines = 5;
const maxFailureText = 500;
/** The first line of many tools: a name, a version, a date. */
const banner = /^\S+ v?\d+\.\d\S*( \(.*\))?$/;

/** Joins the last lines of a failed tool's output to one line for people, without its banner and its usage. */
export function failureText(output: string): string {
  const lines = output
    .split(/[\r\n]+/)
    .map(line => line.trim())
    .filter(line => line !== '' && !banner.test(line));
  const usage = lines.findIndex((line, index) => index > 0 && /^usage:/i.test(line));
  const errors = usage < 0 ? lines : lines.slice(0, usage);
  return errors.slice(-maxLines).join('; ').slice(-maxFailureText).toWellFormed();
}

/**
 * Adds to variables for a command: no locale, because programs parse the output; and the old system calls for
 * `mount`, because the new ones would mount on a link such as /proc/self/fd/N itself.
 */
export function environmentWith(variables: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...variables, LC_ALL: 'C', LIBMOUNT_FORCE_MOUNT2: 'always' };
}

/** Starts a process in a session and a process group of its own. Returns the system's error code on failure. */
async function start(
  command: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'env' | 'stdio'>,
): Promise<Child | string> {
  // Loaded with the first command, because a node agent that only waits needs less memory without it.
  const { spawn } = process.getBuiltinModule('node:child_process');
  try {
    if (wasShort) requireDescriptors();
    const child = spawn(command, args, { ...options, detached: true });
    await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
    return child as Child;
  } catch (error) {
    const { code = 'UNKNOWN' } = error as NodeJS.ErrnoException;
    wasShort ||= code === 'EMFILE' || code === 'ENFILE';
    // An argument with a NUL makes Node throw such a code of its own.
    return code.startsWith('ERR_') ? 'EINVAL' : code;
  }
}

/**
 * Throws when too few descriptors are free. Node.js never closes the pipes of a command that lacked the last
 * descriptor, so each failed start would leave fewer.
 */
function requireDescriptors(): void {
  const opened: number[] = [];
  try {
    while (opened.length < descriptorsOfStart) opened.push(openSync('/dev/null', 'r'));
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

type Child = ChildProcess & { readonly pid: number };

function collect(stream: Readable | null, maxLength: number): () => string {
  const chunks: string[] = [];
  let length = 0;
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    if (length < maxLength) chunks.push(chunk.slice(0, maxLength - length));
    length += chunk.length;
  });
  return () => chunks.join('');
}

/** Collects the end of a stream, where a tool reports the reason of its failure. */
function collectEnd(stream: Readable | null, maxLength: number): () => string {
  let end = '';
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    end = (end + chunk).slice(-maxLength);
  });
  return () => end;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All processes of the group have ended.
  }
}

/**
 * Closes the child's pipes. Returns true for a child that has ended, even if a detached child of its own still holds
 * its output open.
 */
function release(child: Child): boolean {
  for (const stream of child.stdio) stream?.destroy();
  return child.exitCode !== null || child.signalCode !== null;
}

async function countUntil(closed: Promise<void>): Promise<void> {
  abandoned++;
  await closed;
  abandoned--;
}
