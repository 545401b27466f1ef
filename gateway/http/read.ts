import type { Context } from 'hono';
import { maxBodyBytes } from '../../src/api/operations.ts';
import { invalidProblem } from '../../src/api/problem.ts';

const maxWaitS = 60;
const defaultWaitS = 30;

/** How long the caller waits for the outcome (RFC 7240, "wait"), in milliseconds. */
export function readWaitMs(prefer: string | undefined): number {
  const seconds = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])/i.exec(prefer ?? '')?.[1];
  return Math.min(seconds === undefined ? defaultWaitS : Number(seconds), maxWaitS) * 1_000;
}

/** The query's parameters, each of which may be there once: else a proxy may read another one than we do. */
export function readQuery(c: Context): Readonly<Record<string, string>> {
  const twice = Object.entries(c.req.queries()).find(([, values]) => values.length > 1);
  if (twice) throw invalidProblem(`query: "${twice[0]}" is there ${twice[1].length} times`);
  return requirePlain(c.req.query(), 'query');
}

/** INVALID_ARGUMENT for a value with a NUL, which a store refuses and no answer may repeat. */
export function requirePlain(
  values: Readonly<Record<string, string>>,
  where: string,
): Readonly<Record<string, string>> {
  const [odd] = Object.entries(values).find(([, value]) => value.includes('\0')) ?? [];
  if (odd !== undefined) throw invalidProblem(`${where}: "${odd}" has a NUL`);
  return values;
}

/** Ids and values that cannot be decoded would be taken as they are written. */
export function requireEncoded(url: string): void {
  if (!url.includes('%')) return;
  try {
    decodeURIComponent(url);
  } catch (error) {
    throw invalidProblem('the URL has what is not percent-encoded UTF-8', error);
  }
}

/** When a piece of a long body may be decoded, and read on after it. */
type Pace = <T>(piece: () => Promise<T>) => Promise<T>;

/** A longer body is decoded as it comes. */
const pieceBytes = 64 * 1024;
const wholeUtf8 = new TextDecoder('utf-8', { fatal: true });

/** The body as text; INVALID_ARGUMENT. */
export async function readText(c: Context): Promise<string> {
  return (await readPieces(c, piece => piece())).join('');
}

/** How long a request says that its body is, in bytes; infinite where it does not. */
export function lengthOf(c: Context): number {
  const { headers } = c.req.raw;
  const length = Number(headers.get('content-length') ?? Infinity);
  return headers.has('transfer-encoding') || Number.isNaN(length) ? Infinity : length;
}

/**
 * The body as text, piece by piece where it is long: making one text of it would take milliseconds. INVALID_ARGUMENT for one
 * that is too long, of which no more is read, and for what is no UTF-8, which is not replaced: two names would become one.
 */
export async function readPieces(c: Context, pace: Pace): Promise<readonly string[]> {
  const length = lengthOf(c);
  // A stream costs more than all else that is done for a request.
  if (length <= pieceBytes) return [decode(wholeUtf8, await c.req.arrayBuffer())];
  if (length !== Infinity) requireAllowed(length);
  // Cancelled, a request of Node.js takes the connection with it, and the answer.
  return decodeAll(c.req.raw.body?.values({ preventCancel: true }) ?? [], pace);
}

/** All of it is read, whatever is wrong with it, unless it is too long. */
async function decodeAll(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, pace: Pace) {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const pieces: string[] = [];
  let [bytes, fault] = [0, undefined as unknown];
  for await (const chunk of chunks) {
    requireAllowed((bytes += chunk.length));
    try {
      const read = async (): Promise<string> => decode(utf8, chunk, true);
      // What is not wanted yet is not read from the connection either.
      if (!fault) pieces.push(await (bytes > pieceBytes ? pace(read) : read()));
    } catch (error) {
      fault = error;
    }
  }
  if (fault) throw fault;
  return [...pieces, decode(utf8)];
}

function requireAllowed(bytes: number): void {
  if (bytes > maxBodyBytes) throw invalidProblem(`body: more than ${maxBodyBytes} bytes`);
}

function decode(utf8: TextDecoder, bytes?: Uint8Array | ArrayBuffer, stream = false): string {
  try {
    return utf8.decode(bytes, { stream });
  } catch (error) {
    throw invalidProblem('body: not UTF-8', error);
  }
}

/** The path of an operation as routes have it. */
export function toRoute(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}
