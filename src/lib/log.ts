import { pino } from 'pino';

/**
 * The only things a log line may carry beside its message. Requests, headers, maps and attachments are not in
 * this list, so that a secret has no way in.
 */
export type LogFields = {
  readonly rpc?: string;
  readonly route?: string;
  readonly requestId?: string;
  readonly volumeId?: string;
  readonly nodeId?: string;
  readonly cluster?: string;
  readonly code?: string;
  readonly status?: number;
  readonly durationMs?: number;
  readonly detail?: string;
  readonly command?: string;
  readonly path?: string;
  readonly endpoint?: string;
  readonly count?: number;
  readonly stack?: string;
};

/** Writes JSON lines to standard error. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** The levels that a log can be set to, quietest last. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;

/** One of `logLevels`. */
export type LogLevel = (typeof logLevels)[number];

/** Makes the log of one program. Lines go to standard error, so that standard output stays for results. */
export function createLog(program: string, level: LogLevel): Log {
  const sink = pino(
    {
      level,
      base: { program },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
    },
    pino.destination({ fd: 2, sync: true }),
  );
  return {
    debug: (message, fields = {}) => sink.debug(fields, message),
    info: (message, fields = {}) => sink.info(fields, message),
    warn: (message, fields = {}) => sink.warn(fields, message),
    error: (message, fields = {}) => sink.error(fields, message),
  };
}

const nothing = (): void => {};

/** A log that drops every line. */
export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
