import { isAbsolute, normalize } from 'node:path';
import { longestTimerMs } from './concurrency.ts';

/** Any text that is not empty. */
export function text(value: string): string {
  if (value === '') throw new Error('must not be empty');
  return value;
}

/** An absolute path, normalized, without a slash at its end. */
export function absolutePath(value: string): string {
  if (!isAbsolute(value)) throw new Error(`"${value}" is not an absolute path`);
  const path = normalize(value);
  return path === '/' ? path : path.replace(/\/+$/, '');
}

/** A whole number between two bounds, both included. */
export function integer(least: number, most: number): (value: string) => number {
  return value => {
    const number = /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= least && number <= most))
      throw new Error(`"${value}" is not a whole number from ${least} to ${most}`);
    return number;
  };
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** A duration such as 250ms, 30s, 5m or 1h, given back in milliseconds. */
export function durationMs(value: string): number {
  const ms = readAmount(value, unitMs);
  if (ms > longestTimerMs) throw new Error(`"${value}" is longer than 24 days`);
  if (Number.isNaN(ms)) throw new Error(`"${value}" is not a duration such as 250ms, 30s, 5m or 1h`);
  return ms;
}

/** A duration that no timer waits for: it may have days, as in 90d; given back in milliseconds. */
export function longDurationMs(value: string): number {
  const ms = readAmount(value, { ...unitMs, d: 86_400_000 });
  if (Number.isSafeInteger(ms)) return ms;
  throw new Error(`"${value}" is not a duration such as 30m, 12h or 90d`);
}

const unitBytes = { '': 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 };

/** A number of bytes such as 4096, 512Mi or 10Gi. */
export function bytes(value: string): number {
  const number = readAmount(value, unitBytes);
  if (Number.isSafeInteger(number)) return number;
  throw new Error(`"${value}" is not a number of bytes such as 4096, 512Mi or 10Gi`);
}

/** A whole number of units; not a number for what is none. */
function readAmount(value: string, units: Readonly<Record<string, number>>): number {
  const [, digits, unit = ''] = /^(\d+)([A-Za-z]*)$/.exec(value) ?? [];
  return Object.hasOwn(units, unit) ? Number(digits) * (units[unit] ?? Number.NaN) : Number.NaN;
}

/** One of a few words, which the parser names. */
export function choice<const T extends string>(
  ...words: readonly T[]
): ((value: string) => T) & { readonly words: readonly T[] } {
  const read = (value: string): T => {
    const found = words.find(word => word === value);
    if (found === undefined) throw new Error(`"${value}" is not one of ${words.join(', ')}`);
    return found;
  };
  return Object.assign(read, { words });
}

/** A list with commas, or with one on each line, where what is listed has commas in it; empty lines say nothing. */
export function list<T>(parse: (value: string) => T): (value: string) => readonly T[] {
  return value =>
    value
      .split(value.includes('\n') ? '\n' : ',')
      .map(part => part.trim())
      .filter(part => part !== '')
      .map(part => parse(part));
}

/** An http or https address without a query; given back without a slash at its end. */
export function httpUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new Error(`"${value.replace(/[^/]*@/, '…@')}" is not an http or https address`);
  if (url.search || url.hash || url.username || url.password)
    throw new Error(`"${url.origin}" must have no query, fragment or credentials`);
  return url.href.replace(/\/+$/, '');
}

/** Throws when what is sent to the address can be read on the way: plain HTTP to what is not this machine itself. */
export function requirePrivate(url: string): void {
  const { protocol, hostname, origin } = new URL(url);
  if (protocol === 'https:' || /^(localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\])$/.test(hostname)) return;
  throw new Error(`"${origin}" is another machine, and http is not encrypted: use https, or --allow-http`);
}

/** `host:port`, where port 0 lets the system choose one. */
export function hostPort(value: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s[\]]+)):(\d{1,5})$/.exec(value);
  const port = Number(match?.[3]);
  if (!match || port > 65_535) throw new Error(`"${value}" is not host:port`);
  return { host: match[1] ?? match[2] ?? '', port };
}

/** A UNIX socket: `unix:///path/name.sock` or the bare absolute path; given back as a path. */
export function unixSocket(value: string): string {
  const path = value.replace(/^unix:(\/\/)?/, '');
  if (!isAbsolute(path) || !path.endsWith('.sock'))
    throw new Error(`"${value}" is not a UNIX socket such as unix:///csi/csi.sock`);
  if (Buffer.byteLength(path) > 107)
    throw new Error(`"${value}" is longer than the 107 bytes that a UNIX socket's path may have`);
  return normalize(path);
}
