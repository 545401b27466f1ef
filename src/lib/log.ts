import { pino } from 'pino';

const fieldKinds = {
  rpc: 'text',
  route: 'text',
  requestId: 'text',
  volumeId: 'text',
  nodeId: 'text',
  cluster: 'text',
  code: 'text',
  status: 'number',
  durationMs: 'number',
  detail: 'text',
  command: 'text',
  path: 'text',
  endpoint: 'text',
  count: 'number',
  stack: 'text',
} as const;

type Kinds = { text: string; number: number };

/**
 * The only things a log line may carry beside its message; anything else is dropped. Requests, headers, maps and
 * attachments are not in this list, so that a secret has no way in.
 */
export type LogFields = { readonly [K in keyof typeof fieldKinds]?: Kinds[(typeof fieldKinds)[K]] };

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
    debug: (message, fields) => sink.debug(allowed(fields), message),
    info: (message, fields) => sink.info(allowed(fields), message),
    warn: (message, fields) => sink.warn(allowed(fields), message),
    error: (message, fields) => sink.error(allowed(fields), message),
  };
}

function allowed(fields: LogFields = {}): LogFields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => Object.hasOwn(fieldKinds, name)));
}

const nothing = (): void => {};

/** A log that drops every line. */
export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
