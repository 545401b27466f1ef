import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
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
  return c.req.query();
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

/** INVALID_ARGUMENT for a body that is too long. */
export const limitBody = bodyLimit({
  maxSize: maxBodyBytes,
  onError: () => {
    throw invalidProblem(`body: more than ${maxBodyBytes} bytes`);
  },
});

/** A longer body is decoded as it comes. */
const pieceBytes = 64 * 1024;
const wholeUtf8 = new TextDecoder('utf-8', { fatal: true });

/** The body as text; INVALID_ARGUMENT. */
export async function readText(c: Context): Promise<string> {
  return (await readPieces(c)).join('');
}

/**
 * The body as text, piece by piece where it is long: making one text of it would take milliseconds. INVALID_ARGUMENT for what
 * is no UTF-8, which is not replaced: two names would become one.
 */
export async function readPieces(c: Context): Promise<readonly string[]> {
  const isShort = Number(c.req.header('content-length') ?? Infinity) <= pieceBytes;
  // A stream costs more than all else that is done for a request.
  if (isShort) return [decode(wholeUtf8, await c.req.arrayBuffer())];
  return decodeAll(c.req.raw.body ?? []);
}

/** All of it is read, whatever is wrong with it. */
async function decodeAll(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const pieces: string[] = [];
  let fault: unknown;
  for await (const chunk of chunks)
    try {
      if (!fault) pieces.push(decode(utf8, chunk, true));
    } catch (error) {
      fault = error;
    }
  if (fault) throw fault;
  return [...pieces, decode(utf8)];
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
