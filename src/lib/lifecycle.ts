import type { Log } from './log.ts';

/** A program that is up: what it says when ready, and how it ends. */
export interface Running {
  /** Facts for whoever started the program, such as the address it listens on. */
  readonly ready: Readonly<Record<string, string>>;
  /** Resolves once nobody needs the program any more: asked to end (SIGTERM), it serves on until then. */
  released?(): Promise<void>;
  /** Stops taking work, finishes what runs, frees what is held. */
  close(): Promise<void>;
}

/** One program to run. `announce` is called once it is up and may be ended. */
export type ProgramRun = {
  readonly name: string;
  readonly log: Log;
  readonly start: () => Promise<Running>;
  readonly announce?: (running: Running) => void;
};

/** How long an orderly end may take before the process ends anyway, in milliseconds. */
const closeTimeoutMs = 15_000;

/**
 * Runs one program until SIGTERM or SIGINT: status 0 after an orderly end, 1 with a line on standard error when it does
 * not start. It serves on at a first SIGTERM until it is released. It ends at once when its parent by IPC has ended.
 */
export async function runProgram({ name, log, start, announce }: ProgramRun): Promise<void> {
  // The other side may go away while the program still starts.
  process.once('disconnect', () => process.exit(1));
  let running: Running;
  try {
    running = await start();
  } catch (error) {
    const { isReported } = error as { readonly isReported?: boolean };
    const faults = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error];
    if (!isReported)
      for (const fault of faults) process.stderr.write(`fairlead ${name}: ${describeStartFault(fault)}\n`);
    process.exit(1);
  }
  let closing = false;
  const close = (reason: string): void => {
    if (closing) return;
    closing = true;
    log.info(`ends: ${reason}`);
    setTimeout(() => process.exit(1), closeTimeoutMs).unref();
    running.close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error('did not end cleanly', { detail: describeStartFault(error) });
        process.exit(1);
      },
    );
  };
  process.once('SIGTERM', signal => {
    process.once('SIGTERM', close);
    if (!running.released) return close(signal);
    log.info('asked to end: serves on until it is no longer needed');
    const end = (): void => close(signal);
    running.released().then(end, end);
  });
  process.once('SIGINT', close);
  log.info('ready', { endpoint: Object.values(running.ready).join(' ') });
  announce?.(running);
  process.send?.({ ready: running.ready });
}

/** A system error as one short sentence; anything else as its message, on one line. */
export function describeStartFault(error: unknown): string {
  return describe(error).replaceAll(/\s*\n\s*/g, ' ');
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code = '', path } = error as NodeJS.ErrnoException;
  const address = 'address' in error && 'port' in error && `${String(error.address)}:${String(error.port)}`;
  const subject = path === undefined ? address : `"${path}"`;
  const sentence = sentences[code];
  return sentence && subject ? `${subject} ${sentence}` : error.message || code || error.name;
}

/** What system errors mean to those who start a program. */
const sentences: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is already in use',
  EADDRNOTAVAIL: 'is no address of this machine',
  EACCES: 'cannot be used: no permission',
  EPERM: 'cannot be used: no permission',
  EROFS: 'cannot be written: it lies on a read-only filesystem',
  ENOENT: 'is not there, or what it lies in is not',
  EEXIST: 'is there already',
  ENOTDIR: 'is no directory, or lies below a file',
  ENAMETOOLONG: 'has too long a name',
  ENOSPC: 'lies on a full disk',
};
