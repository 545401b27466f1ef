import { predicateOf, reasonOf } from './words/failures.ts';
import type { Log } from './log.ts';

/** A running program, with its facts at the start and the functions to end it. */
export interface RunningProgram {
  /** Facts for the starter of the program, such as its address. */
  readonly ready: Readonly<Record<string, string>>;
  /** Resolves once the program is no longer needed. After a first SIGTERM it continues until then. */
  released?(): Promise<void>;
  /** Stops accepting work, finishes work in progress, and frees resources. */
  close(): Promise<void>;
  /** The time limit of an orderly end, in milliseconds; by default 15 s. Afterwards the process ends anyway. */
  readonly closeTimeoutMs?: number;
}

/** A program to run. `announce` is called once it runs and may be ended. */
export type ProgramRun = {
  readonly name: string;
  readonly log: Log;
  readonly start: () => Promise<RunningProgram>;
  /** The program's settings by their flags. */
  readonly settings?: object;
  readonly announce?: (running: RunningProgram) => void;
};

/** The signals that end a program. SIGHUP comes when its terminal has closed. */
const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const defaultCloseTimeoutMs = 15_000;

/**
 * Runs one program until SIGTERM, SIGINT or SIGHUP (its terminal has closed). The status is 0 after an orderly end, and 1, with a line on standard
 * error, when the program does not start. After a first SIGTERM it continues until it is released. It ends at once
 * when its parent process (connected by IPC) has ended.
 */
export async function runProgram({ name, log, start, settings, announce }: ProgramRun): Promise<void> {
  // The parent may end before the program starts, or while it is starting.
  process.once('disconnect', () => process.exit(1));
  if (process.connected === false) process.exit(1);
  let running: RunningProgram;
  try {
    running = await start();
  } catch (error) {
    const { isReported } = error as { readonly isReported?: boolean };
    if (!isReported)
      for (const fault of startFaultsOf(error))
        process.stderr.write(`fairlead ${name}: ${describeStartFault(fault, settings)}\n`);
    process.exit(1);
  }
  let closing = false;
  const close = (reason: string): void => {
    if (closing) return;
    closing = true;
    log.info(`ending: ${reason}`);
    setTimeout(() => process.exit(1), running.closeTimeoutMs ?? defaultCloseTimeoutMs).unref();
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
    log.info('received SIGTERM; continuing until the program is no longer needed');
    const end = (): void => close(signal);
    running.released().then(end, end);
  });
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.once(signal, close);
  log.info('ready', { endpoint: Object.values(running.ready).join(' ') });
  announce?.(running);
  process.send?.({ ready: running.ready });
}

/**
 * Returns a signal that aborts with the first SIGINT, SIGTERM or SIGHUP. From then on these no longer end the process by
 * themselves: its caller ends it once everything is removed.
 */
export function interruptBySignal(): AbortSignal {
  const interrupt = new AbortController();
  for (const signal of endSignals)
    process.on(signal, () =>
      // The sender knows, so a program that only starts need not say it.
      interrupt.abort(Object.assign(new Error(`interrupted by ${signal}`), { isReported: true })),
    );
  return interrupt.signal;
}

/** Lists all faults of a failed start. */
export function startFaultsOf(error: unknown): readonly unknown[] {
  return error instanceof AggregateError ? error.errors : [error];
}

/**
 * Describes a system error as one short sentence, and any other error by its message on one line. A file that one of the
 * settings names is described with its flag.
 */
export function describeStartFault(error: unknown, settings: object = {}): string {
  const { path } = Object(error) as { readonly path?: unknown };
  const [flag] = Object.entries(settings).find(([, value]) => path !== undefined && value === path) ?? [];
  const subject = flag === undefined ? '' : `--${flag}: `;
  return subject + describe(error).replaceAll(/\s*\n\s*/g, ' ');
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { path, hostname } = error as NodeJS.ErrnoException & { readonly hostname?: string };
  const address = 'address' in error && 'port' in error && `${String(error.address)}:${String(error.port)}`;
  const name = path ?? hostname;
  const subject = name === undefined ? address : `"${name}"`;
  const predicate = predicateOf(error);
  if (predicate && subject) return `${subject} ${predicate}`;
  return error.message || reasonOf(error);
}
