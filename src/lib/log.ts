const names = ['rpc', 'route', 'requestId', 'traceId', 'volumeId', 'nodeId', 'cluster', 'code'] as const;
const numbers = ['status', 'durationMs', 'count'] as const;
const texts = ['detail', 'command', 'path', 'endpoint', 'stack'] as const;
const written = [...names, ...numbers, ...texts].map(name => ({ name, prefix: `,"${name}":` }));

/**
 * The only things a log line may carry beside its message; anything else is dropped. Requests, headers, maps and
 * attachments are not in this list, so that a secret has no way in.
 */
export type LogFields = Readonly<
  Partial<
    Record<(typeof names | typeof texts)[number], string | undefined> &
      Record<(typeof numbers)[number], number | undefined>
  >
>;

/** Writes JSON lines to standard error. */
export type Log = Readonly<
  Record<'debug' | 'info' | 'warn' | 'error', (message: string, fields?: LogFields) => void>
>;

/** The levels that a log can be set to, quietest last. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;

/** One of `logLevels`. */
export type LogLevel = (typeof logLevels)[number];

/** Most characters of lines that wait for a reader who is slow; what comes while they wait is lost. */
const mostWaiting = 2 ** 20;

/** Writes lines to standard error; what comes while too much waits there is lost. */
type Write = (lines: string) => void;

const writeNow: Write = lines => {
  if (process.stderr.writableLength <= mostWaiting) process.stderr.write(lines);
};

/** Writes the lines of one turn of the event loop together, and the last ones when the process ends. */
export function writeTogether(): Write {
  let waiting = '';
  const flush = (): void => {
    const lines = waiting;
    waiting = '';
    if (lines !== '') writeNow(lines);
  };
  process.once('exit', flush);
  return lines => {
    if (waiting === '') setImmediate(flush);
    waiting += lines;
  };
}

/** Makes the log of one program, on standard error; lines that nobody reads are lost. */
export function createLog(program: string, level: LogLevel, write = writeNow): Log {
  // One listener, however many logs a process makes.
  process.stderr.off('error', nothing).on('error', nothing);
  const lineAt =
    (own: LogLevel) =>
    (message: string, fields: LogFields = {}): void =>
      write(toLine({ level: own, time: new Date().toISOString(), program }, fields, message));
  const at = (own: LogLevel) => (logLevels.indexOf(own) < logLevels.indexOf(level) ? nothing : lineAt(own));
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** There is one for each request: by JSON.stringify with the names that may be written it would take twice as long. */
function toLine(
  head: Readonly<Record<'level' | 'time' | 'program', string>>,
  fields: LogFields,
  msg: string,
) {
  let line = `{"level":"${head.level}","time":"${head.time}","program":"${head.program}"`;
  for (const { name, prefix } of written) {
    const value: unknown = fields[name];
    if (typeof value === 'string') line += prefix + quote(value);
    else if (typeof value === 'number') line += prefix + value;
  }
  return `${line},"msg":${quote(msg)}}\n`;
}

/** What JSON writes as it is, as most names, ids and paths. */
const plain = /^[\w ./:=~-]*$/;

function quote(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text);
}

const nothing = (): void => {};

/** A log that drops every line. */
export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Where an error came from, without its message: what others wrote into that may be secret. */
export function framesOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const { code } = cause as { code?: unknown };
  const frames = (cause.stack ?? '').split('\n').filter(line => /^\s+at /.test(line));
  return [`${cause.name}${typeof code === 'string' ? ` ${code}` : ''}`, ...frames].join('\n');
}
