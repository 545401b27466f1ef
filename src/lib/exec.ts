import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { withinTime } from './concurrency.ts';

/** How a command ended. `status` is its exit status, or undefined when a signal or the deadline ended it. */
export type ExecResult = {
  readonly status: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** The deadline passed and the whole process group was killed. */
  readonly timedOut: boolean;
  /** Why it was never started, where it was not: the system's name of the error, ENOENT where it is not installed. */
  readonly fault?: string;
  /** Set for one that could not be killed and was left behind; resolves once it has ended. */
  readonly gone?: Promise<void>;
};

/**
 * `timeoutMs` bounds the whole run; `stdin` is written and closed (by default standard input is empty). Standard output of a
 * `mute` command goes nowhere; of any other's streams `mostOutput` characters are returned. The command is given `descriptors`
 * of this process, from 3 on, and an `environment` that is made once, by `environmentWith`; by default all of this process's.
 */
type ExecOptions = {
  readonly timeoutMs: number;
  readonly stdin?: string;
  readonly mute?: boolean;
  readonly mostOutput?: number;
  readonly descriptors?: readonly number[];
  readonly environment?: NodeJS.ProcessEnv;
};

/** How long a killed group may take to end before it is left behind, in milliseconds. */
const graceMs = 1_000;
/** How much of each output stream is returned when nothing else is said, in characters. */
const outputCap = 64 * 1024;

/** What a start has open at most: a pair for each of three streams, and one to learn how it went. */
const descriptorsOfStart = 8;

/** What commands inherit as it was at the start, since each reading of it costs as much as a call. */
const inherited = environmentWith(process.env);

/** Once there were too few descriptors for a command, it is looked for each that there are enough. */
let wasShort = false;

let abandoned = 0;

/** How many children of this process did not die when they were killed, and are still there. */
export function countAbandoned(): number {
  return abandoned;
}

/**
 * Runs one command, never through a shell, and resolves always. At the deadline it is killed with its children as a
 * group; one that cannot die (uninterruptible sleep) is left behind.
 */
export async function exec(
  command: string,
  args: readonly string[],
  {
    timeoutMs,
    stdin,
    mute = false,
    mostOutput = outputCap,
    descriptors = [],
    environment = inherited,
  }: ExecOptions,
): Promise<ExecResult> {
  const child = await start(command, args, {
    env: environment,
    stdio: [stdin === undefined ? 'ignore' : 'pipe', mute ? 'ignore' : 'pipe', 'pipe', ...descriptors],
  });
  if (typeof child === 'string') {
    const stderr = `could not be started: ${child}`;
    return { status: undefined, stdout: '', stderr, timedOut: false, fault: child };
  }
  child.stdin?.on('error', () => {}).end(stdin ?? '');
  const [stdout, stderr] = [collect(child.stdout, mostOutput), collect(child.stderr, mostOutput)];
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

/**
 * These variables for commands. Programs read their output, so no locale applies; and the newer system calls of `mount`
 * would mount on a link such as /proc/self/fd/N itself.
 */
export function environmentWith(variables: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...variables, LC_ALL: 'C', LIBMOUNT_FORCE_MOUNT2: 'always' };
}

/** A process that runs, in a session and a process group of its own; or the system's name of the error. */
async function start(
  command: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'env' | 'stdio'>,
): Promise<Child | string> {
  // The first command loads it: an agent that only waits needs less memory.
  const { spawn } = process.getBuiltinModule('node:child_process');
  try {
    if (wasShort) requireDescriptors();
    const child = spawn(command, args, { ...options, detached: true });
    await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
    return child as Child;
  } catch (error) {
    const { code = 'UNKNOWN' } = error as NodeJS.ErrnoException;
    wasShort ||= code === 'EMFILE' || code === 'ENFILE';
    // No command line can hold a NUL character.
    return code.startsWith('ERR_') ? 'EINVAL' : code;
  }
}

/** Node.js never closes the pipes of a command that lacked the last descriptor: each try would leave fewer of them. */
function requireDescriptors(): void {
  const opened: number[] = [];
  try {
    while (opened.length < descriptorsOfStart) opened.push(openSync('/dev/null', 'r'));
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

type Child = ChildProcess & { readonly pid: number };

function collect(stream: Readable | null, most: number): () => string {
  const chunks: string[] = [];
  let length = 0;
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    if (length < most) chunks.push(chunk.slice(0, most - length));
    length += chunk.length;
  });
  return () => chunks.join('');
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

/** Closes its pipes. True for a child that is dead, and whose output an escaped child of its own holds open. */
function release(child: Child): boolean {
  for (const stream of child.stdio) stream?.destroy();
  return child.exitCode !== null || child.signalCode !== null;
}

async function countUntil(closed: Promise<void>): Promise<void> {
  abandoned++;
  await closed;
  abandoned--;
}
