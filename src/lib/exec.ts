import { spawn, type ChildProcess } from 'node:child_process';

/** How a command ended. `status` is its exit status, or undefined when a signal or the deadline ended it. */
export type ExecResult = {
  readonly status: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** The deadline passed and the whole process group was killed. */
  readonly timedOut: boolean;
  /** The command is not installed. */
  readonly missing: boolean;
  /** Set for one that could not be killed and was left behind; resolves once it is gone. */
  readonly gone?: Promise<void>;
};

/** `timeoutMs` bounds the whole run; `stdin` is written and closed (by default standard input is empty). */
export type ExecOptions = {
  readonly timeoutMs: number;
  readonly stdin?: string;
  readonly env?: NodeJS.ProcessEnv;
};

/** How long a killed group may take to be gone before it is left behind, in milliseconds. */
const graceMs = 1_000;
/** What is kept of each output stream, in characters. */
const outputCap = 64 * 1024;

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
export function exec(command: string, args: readonly string[], options: ExecOptions): Promise<ExecResult> {
  return new Promise(resolve => {
    const child = start(command, args, options);
    if (child instanceof Error) {
      resolve({ status: undefined, stdout: '', stderr: child.message, timedOut: false, missing: false });
      return;
    }
    const stdout = collect(child.stdout);
    const stderr = collect(child.stderr);
    let timedOut = false;
    let abandon: NodeJS.Timeout | undefined;
    let gone: Promise<void> | undefined;
    const finish = (status: number | undefined, fault?: NodeJS.ErrnoException): void => {
      clearTimeout(deadline);
      clearTimeout(abandon);
      const missing = fault?.code === 'ENOENT';
      const said = { stdout: stdout(), stderr: fault?.message ?? stderr() };
      resolve({ status, ...said, timedOut, missing, ...(gone && { gone }) });
    };
    const deadline = setTimeout(() => {
      timedOut = true;
      killGroup(child);
      abandon = setTimeout(() => {
        gone = release(child);
        finish(undefined);
      }, graceMs);
    }, options.timeoutMs);
    child.once('error', (error: NodeJS.ErrnoException) => finish(undefined, error));
    child.once('close', status => finish(status ?? undefined));
    if (options.stdin !== undefined) child.stdin?.on('error', () => {}).end(options.stdin);
  });
}

/** The child; or the error for what no command line can hold, such as an argument with a NUL. */
function start(command: string, args: readonly string[], { stdin, env }: ExecOptions): ChildProcess | Error {
  try {
    return spawn(command, args, {
      detached: true,
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      ...(env && { env }),
    });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  const chunks: string[] = [];
  let length = 0;
  stream?.setEncoding('utf8');
  stream?.on('data', (chunk: string) => {
    if (length < outputCap) chunks.push(chunk.slice(0, outputCap - length));
    length += chunk.length;
  });
  return () => chunks.join('');
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}

function release(child: ChildProcess): Promise<void> | undefined {
  child.stdin?.destroy();
  child.stdout?.destroy();
  child.stderr?.destroy();
  child.removeAllListeners();
  child.unref();
  // One that is dead and whose output an escaped child of its own holds open is not stuck.
  if (child.exitCode !== null || child.signalCode !== null) return undefined;
  abandoned++;
  return new Promise(resolve => {
    child.once('exit', () => {
      abandoned--;
      resolve();
    });
  });
}
