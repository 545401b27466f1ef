import { toPrintableJson } from './json.ts';

const names = ['rpc', 'route', 'requestId', 'traceId', 'volumeId', 'nodeId', 'cluster', 'code'] as const;
const numbers = ['status', 'durationMs', 'count'] as const;
const texts = ['detail', 'command', 'path', 'endpoint', 'stack'] as const;
const written = [...names, ...numbers, ...texts].map(name => ({ name, prefix: `,"${name}":` }));

/**
 * The fields of a log line, beside its message; others are dropped. Requests, headers, maps and attachments are not
 * among them, so no secret can get into the log.
 */
export type LogFields = Readonly<
  Partial<
    Record<(typeof names | typeof texts)[number], string | undefined> &
      Record<(typeof numbers)[number], number | undefined>
  >
>;

export type Log = Readonly<
  Record<'debug' | 'info' | 'warn' | 'error', (message: string, fields?: LogFields) => void>
>;

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export type LogLevel = (typeof logLevels)[number];

/** The maximum characters that wait for a slow reader; further lines are lost. */
const maxPendingCharacters = 2 ** 20;

/** Writes lines to standard error. Lines are lost while too many characters wait there. */
type Writer = (lines: string) => void;

const writeNow: Writer = lines => {
  if (process.stderr.writableLength <= maxPendingCharacters) process.stderr.write(lines);
};

/**
 * Collects the lines of one tick of the event loop, and writes them together. Writes the last lines when the process
 * ends.
 */
export function writeTogether(): Writer {
  let pending = '';
  const flush = (): void => {
    const lines = pending;
    pending = '';
    if (lines !== '') writeNow(lines);
  };
  process.once('exit', flush);
  return lines => {
    if (pending === '') setImmediate(flush);
    pending += lines;
  };
}

/** The formats of a log: lines for people, or one JSON object a line. */
export const logFormats = ['text', 'json'] as const;

export type LogFormat = (typeof logFormats)[number];

/** The writer and the format of a log. Without a format, it is text on a terminal and JSON elsewhere. */
type LogOptions = { readonly write?: Writer; readonly format?: LogFormat | undefined };

/** Creates the log of a program, on standard error. Lines without a reader are lost. */
export function createLog(program: string, level: LogLevel, options: LogOptions = {}): Log {
  const { write = writeNow, format = process.stderr.isTTY ? 'text' : 'json' } = options;
  const compose = format === 'text' ? toText : toLine;
  // Replaces the listener, so that a process with many logs has only one.
  process.stderr.off('error', nothing).on('error', nothing);
  const lineAt =
    (own: LogLevel) =>
    (message: string, fields: LogFields = {}): void =>
      write(compose({ level: own, time: new Date().toISOString(), program }, fields, message));
  const at = (own: LogLevel) => (logLevels.indexOf(own) < logLevels.indexOf(level) ? nothing : lineAt(own));
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

type LineHead = Readonly<Record<'time' | 'program', string>> & { readonly level: LogLevel };

/** Fields with words, in their order. The other fields are ids and numbers. */
const spoken = ['detail', 'command', 'path', 'endpoint'] as const;
const colours: Readonly<Partial<Record<LogLevel, string>>> = { debug: '2', warn: '33', error: '31' };

/** Composes a line for people: the local time, the level if it matters, the program, the words, and the ids. */
function toText({ level, time, program }: LineHead, fields: LogFields, msg: string): string {
  const clock = new Date(time).toTimeString().slice(0, 8);
  const words = [msg, ...spoken.flatMap(name => fields[name] ?? [])].map(toWords).join(': ');
  const ids = [...names, ...numbers].flatMap(name => {
    const value = fields[name];
    return value === undefined || value === '' ? [] : [`${name}=${toWords(String(value))}`];
  });
  const stack = fields.stack === undefined ? '' : `\n  ${fields.stack.split('\n').map(toWords).join('\n  ')}`;
  const line = `${clock} ${level.padEnd(5)} ${program}: ${words}${ids.length > 0 ? `  ${ids.join(' ')}` : ''}${stack}`;
  const colour = colours[level];
  const isColoured = colour !== undefined && process.stderr.isTTY && !process.env['NO_COLOR'];
  return isColoured ? `\u001B[${colour}m${line}\u001B[0m\n` : `${line}\n`;
}

/** Makes text printable: control characters are shown as JSON shows them. */
function toWords(text: string): string {
  return plain.test(text) ? text : toPrintableJson(JSON.stringify(text)).slice(1, -1).replaceAll('\\"', '"');
}

/**
 * Composes the line by hand, because every request writes one, and JSON.stringify with a list of field names takes
 * twice as long.
 */
function toLine(head: LineHead, fields: LogFields, msg: string): string {
  let line = `{"level":"${head.level}","time":"${head.time}","program":"${head.program}"`;
  for (const { name, prefix } of written) {
    const value: unknown = fields[name];
    if (typeof value === 'string') line += prefix + quote(value);
    else if (typeof value === 'number') line += prefix + value;
  }
  return `${line},"msg":${quote(msg)}}\n`;
}

/** Texts that JSON writes unchanged, like most names, ids and paths. */
const plain = /^[\w ./:=~-]*$/;

function quote(text: string): string {
  return plain.test(text) ? `"${text}"` : toPrintableJson(JSON.stringify(text));
}

const nothing = (): void => {};

export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** The stack of an error without its message, which may contain secrets from other systems. */
export function framesOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const { code } = cause as { code?: unknown };
  const frames = (cause.stack ?? '').split('\n').filter(line => /^\s+at /.test(line));
  return [`${cause.name}${typeof code === 'string' ? ` ${code}` : ''}`, ...frames].join('\n');
}
