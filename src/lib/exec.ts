import type { Socket } from 'node:net';
import type { Child, Ending } from './spawn.ts';

/** How a command ended. `status` is its exit status, or undefined when a signal or the deadline ended it. */
export type ExecResult = {
  readonly status: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** The deadline passed and the whole process group was killed. */
  readonly timedOut: boolean;
  /** The command is not installed. */
  readonly missing: boolean;
  /** Why it was never started, where it was not: the system's name of the error, such as EMFILE. */
  readonly fault?: string;
  /** Set for one that could not be killed and was left behind; resolves once it is gone. */
  readonly gone?: Promise<void>;
};

/** `timeoutMs` bounds the whole run; `stdin` is written and closed (by default standard input is empty). */
export type ExecOptions = { readonly timeoutMs: number; readonly stdin?: string };

/** How long a killed group may take to be gone before it is left behind, in milliseconds. */
const graceMs = 1_000;
/** What is kept of each output stream, in characters. */
const outputCap = 64 * 1024;

/** Those who wait for a child that ends; any child may be the one that a signal tells of, and one signal may tell of many. */
const looks = new Set<() => void>();
process.on('SIGCHLD', () => {
  for (const look of looks) look();
});

let abandoned = 0;

/** How many children of this process did not die when they were killed, and are still there. */
export function countAbandoned(): number {
  return abandoned;
}

/**
 * Runs one command, never through a shell. It resolves always: what went wrong is in the result. At the deadline the
 * command and its children are killed as a group; one that cannot die (uninterruptible sleep) is left behind, and
 * the result says `timedOut`.
 */
export async function exec(
  command: string,
  args: readonly string[],
  { timeoutMs, stdin }: ExecOptions,
): Promise<ExecResult> {
  // Loaded by the first command: an agent that only waits needs no more memory for it.
  const { spawn } = await import('./spawn.ts');
  const child = spawn(command, args, stdin !== undefined);
  if (typeof child === 'string') {
    const said = { stdout: '', stderr: `could not be started: ${child}` };
    return { status: undefined, ...said, timedOut: false, missing: child === 'ENOENT', fault: child };
  }
  child.stdin?.on('error', () => {}).end(stdin ?? '');
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const ended = untilEnded(child);
  const inTime = await within(timeoutMs, ended);
  if (!inTime) killGroup(child.pid);
  const ending = inTime ?? (await within(graceMs, ended)) ?? release(child);
  return {
    status: ending?.status,
    stdout: stdout(),
    stderr: stderr(),
    timedOut: !inTime,
    missing: false,
    ...(!ending && { gone: untilGone(ended) }),
  };
}

function collect(stream: Socket): () => string {
  const chunks: string[] = [];
  let length = 0;
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    if (length < outputCap) chunks.push(chunk.slice(0, outputCap - length));
    length += chunk.length;
  });
  return () => chunks.join('');
}

/** Its output ends first, and only then is it asked how it ended: until then its group may be killed by its number. */
async function untilEnded(child: Child): Promise<Ending> {
  await Promise.all([untilClosed(child.stdout), untilClosed(child.stderr)]);
  return new Promise(resolve => {
    const look = (): void => {
      const ending = child.reap();
      if (!ending) return;
      looks.delete(look);
      resolve(ending);
    };
    looks.add(look);
    look();
  });
}

function untilClosed(stream: Socket): Promise<void> {
  return new Promise(resolve => {
    stream.on('error', () => {}).once('close', () => resolve());
  });
}

/** What comes in time, or undefined. */
async function within(timeoutMs: number, ended: Promise<Ending>): Promise<Ending | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<undefined>(resolve => {
    timer = setTimeout(() => resolve(undefined), timeoutMs);
  });
  try {
    return await Promise.race([ended, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it is gone.
  }
}

/** Lets go of its output. One that is dead, and whose output an escaped child of its own holds open, has an end. */
function release(child: Child): Ending | undefined {
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
  return child.reap();
}

async function untilGone(ended: Promise<Ending>): Promise<void> {
  abandoned++;
  await ended;
  abandoned--;
}
