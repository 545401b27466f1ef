import { isAbsolute, normalize, resolve } from 'node:path';

export { bytes, durationMs, longDurationMs } from './numbers.ts';

/** Any text that is not empty. */
export function text(value: string): string {
  if (value === '') throw new Error('must not be empty');
  return value;
}

/** The path of a file or directory, made absolute: a relative one begins at the working directory. */
export function localPath(value: string): string {
  return resolve(text(value));
}

/** An absolute path, normalized, without a trailing slash. */
export function absolutePath(value: string): string {
  if (!isAbsolute(value)) throw new Error(`"${value}" is not an absolute path`);
  const path = normalize(value);
  return path === '/' ? path : path.replace(/\/+$/, '');
}

/** Makes a parser of whole numbers from `min` to `max`. */
export function integer(min: number, max: number): (value: string) => number {
  return value => {
    const number = /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max))
      throw new Error(`"${value}" is not a whole number from ${min} to ${max}`);
    return number;
  };
}

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

export function trueOrFalse(value: string): boolean {
  return choice('true', 'false')(value) === 'true';
}

/**
 * Makes a parser of a list, separated by commas, or by line breaks if there are any, for values with commas. Empty
 * parts are skipped.
 */
export function list<T>(parse: (value: string) => T): (value: string) => readonly T[] {
  return value =>
    value
      .split(value.includes('\n') ? '\n' : ',')
      .map(part => part.trim())
      .filter(part => part !== '')
      .map(part => parse(part));
}

/** An http or https address without a query and without a trailing slash. */
export function httpUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new Error(`"${value.replace(/[^/]*@/, '…@')}" is not an http or https address`);
  if (url.search || url.hash || url.username || url.password)
    throw new Error(`"${url.origin}" must have no query, fragment or credentials`);
  return url.href.replace(/\/+$/, '');
}

/** Throws for an address whose traffic others can read: plain HTTP to another machine. */
export function requirePrivate(url: string): void {
  const { protocol, hostname, origin } = new URL(url);
  if (protocol === 'https:' || /^(localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\])$/.test(hostname)) return;
  throw new Error(`"${origin}" is another machine, and http is not encrypted; use https, or --allow-http`);
}

/** `host:port`; with port 0 the system chooses a free port. */
export function hostPort(value: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s[\]]+)):(\d{1,5})$/.exec(value);
  const port = Number(match?.[3]);
  if (!match || port > 65_535) throw new Error(`"${value}" is not an address; use host:port`);
  return { host: match[1] ?? match[2] ?? '', port };
}

/** A UNIX socket that this program serves, as `unix:///path/name.sock` or an absolute path. Returns the path. */
export function unixSocket(value: string): string {
  if (!value.endsWith('.sock')) throw notSocket(value);
  return peerSocket(value);
}

/** A UNIX socket that another program serves, and may have named without `.sock`. Returns the path. */
export function peerSocket(value: string): string {
  const path = value.replace(/^unix:(\/\/)?/, '');
  if (!isAbsolute(path)) throw notSocket(value);
  if (Buffer.byteLength(path) > 107)
    throw new Error(`"${value}" is longer than the maximum of 107 bytes; use a shorter path`);
  return normalize(path);
}

function notSocket(value: string): Error {
  return new Error(`"${value}" is not a UNIX socket such as unix:///csi/csi.sock`);
}
