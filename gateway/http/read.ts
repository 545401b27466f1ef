import type { Context } from 'hono';
import { maxBodyBytes } from '../../src/api/operations.ts';
import { invalidProblem } from '../../src/api/problem.ts';

const maxWaitS = 60;
const defaultWaitS = 30;

/** The time that the caller prefers to wait for the outcome (RFC 7240, "wait"), in milliseconds. */
export function readWaitMs(prefer: string | undefined): number {
  const seconds = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])/i.exec(prefer ?? '')?.[1];
  return Math.min(seconds === undefined ? defaultWaitS : Number(seconds), maxWaitS) * 1_000;
}

/**
 * Reads the query. A repeated parameter is INVALID_ARGUMENT, because a proxy may read another of its values than this
 * gateway.
 */
export function readQuery(c: Context): Readonly<Record<string, string>> {
  const repeated = Object.entries(c.req.queries()).find(([, values]) => values.length > 1);
  if (repeated)
    throw invalidProblem(`query: "${repeated[0]}" is given ${repeated[1].length} times; give it once`);
  return requirePlain(c.req.query(), 'query');
}

/** INVALID_ARGUMENT for a value with a NUL, which a store rejects and an answer must not repeat. */
export function requirePlain(
  values: Readonly<Record<string, string>>,
  where: string,
): Readonly<Record<string, string>> {
  const [name] = Object.entries(values).find(([, value]) => value.includes('\0')) ?? [];
  if (name !== undefined) throw invalidProblem(`${where}: "${name}" has a NUL; remove it`);
  return values;
}

/** INVALID_ARGUMENT for a URL that is not percent-encoded UTF-8; the router would take its ids and values undecoded. */
export function requireEncoded(url: string): void {
  if (!url.includes('%')) return;
  try {
    decodeURIComponent(url);
  } catch (error) {
    throw invalidProblem('the URL is not percent-encoded UTF-8', error);
  }
}

/** Runs the decoding of a piece in a time slice. */
type Pace = <T>(piece: () => Promise<T>) => Promise<T>;

/** The length in bytes above which a body is decoded piece by piece. */
const pieceBytes = 64 * 1024;
const wholeUtf8 = new TextDecoder('utf-8', { fatal: true });

/** The announced length of a request's body in bytes; infinite without one. */
export function lengthOf(c: Context): number {
  const { headers } = c.req.raw;
  const length = Number(headers.get('content-length') ?? Infinity);
  return headers.has('transfer-encoding') || Number.isNaN(length) ? Infinity : length;
}

/**
 * Reads the body as text, and decodes a long one piece by piece. INVALID_ARGUMENT for a body that is too long, which is
 * not read to its end. INVALID_ARGUMENT also for invalid UTF-8: replacing it could make two names equal.
 */
export async function readText(c: Context, pace: Pace = piece => piece()): Promise<string> {
  const length = lengthOf(c);
  // Reading a stream costs more than the rest of a request.
  if (length <= pieceBytes) return decode(wholeUtf8, await c.req.arrayBuffer());
  if (length !== Infinity) requireAllowed(length);
  // Cancelling the stream would close the connection in Node.js, and lose the answer.
  return decodeAll(c.req.raw.body?.values({ preventCancel: true }) ?? [], pace);
}

/** Decodes all chunks. After a fault it still reads to the end, unless the body is too long. */
async function decodeAll(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  pace: Pace,
): Promise<string> {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  // Small chunks are joined, because a text of very many parts takes long to read.
  let [piece, length] = [[] as Uint8Array[], 0];
  let [bytes, fault] = [0, undefined as unknown];
  for await (const chunk of chunks) {
    requireAllowed((bytes += chunk.length));
    if (fault) continue;
    piece.push(chunk);
    if ((length += chunk.length) < pieceBytes) continue;
    const whole = Buffer.concat(piece);
    [piece, length] = [[], 0];
    try {
      // The next chunk is read from the connection only after this piece is decoded.
      text += await pace(async () => decode(utf8, whole, true));
    } catch (error) {
      fault = error;
    }
  }
  if (fault) throw fault;
  return text + decode(utf8, Buffer.concat(piece));
}

function requireAllowed(bytes: number): void {
  if (bytes > maxBodyBytes) throw invalidProblem(`body: longer than the ${maxBodyBytes} bytes allowed`);
}

function decode(utf8: TextDecoder, bytes?: Uint8Array | ArrayBuffer, stream = false): string {
  try {
    return utf8.decode(bytes, { stream });
  } catch (error) {
    throw invalidProblem('body: not UTF-8', error);
  }
}

/** Converts an operation's path to the router's syntax. */
export function toRoute(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}
