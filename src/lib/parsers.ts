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

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** A duration such as 250ms, 30s, 5m or 1h, given back in milliseconds. */
export function durationMs(value: string): number {
  const match = /^(\d{1,9})(ms|s|m|h)$/.exec(value);
  if (!match) throw new Error(`"${value}" is not a duration such as 250ms, 30s, 5m or 1h`);
  const ms = Number(match[1]) * unitMs[match[2] as keyof typeof unitMs];
  if (ms > longestTimerMs) throw new Error(`"${value}" is longer than 24 days`);
  return ms;
}

const unitBytes = { '': 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 } as const;

/** A number of bytes such as 4096, 512Mi or 10Gi. */
export function bytes(value: string): number {
  const match = /^(\d{1,15})(Ki|Mi|Gi|Ti)?$/.exec(value);
  const number = match
    ? Number(match[1]) * unitBytes[(match[2] ?? '') as keyof typeof unitBytes]
    : Number.NaN;
  if (!Number.isSafeInteger(number))
    throw new Error(`"${value}" is not a number of bytes such as 4096, 512Mi or 10Gi`);
  return number;
}

/** One of a few words. */
export function choice<const T extends string>(...words: readonly T[]): (value: string) => T {
  return value => {
    const found = words.find(word => word === value);
    if (found === undefined) throw new Error(`"${value}" is not one of ${words.join(', ')}`);
    return found;
  };
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
