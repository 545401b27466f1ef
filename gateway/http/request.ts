import type { z } from 'zod';
import { Problem } from '../../src/api/problem.ts';
import { maxBodyBytes } from '../../src/api/routes.ts';
import { describeIssue } from '../volumes/validate.ts';

const maxWaitS = 60;
const defaultWaitS = 30;

/** What a text has in which an object may have a key that is the way to its prototype, escaped or not. */
const mayNameProto = /__proto__|\\u/;

/** The caller's id of the request when it is a sane one, else a new one. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w-]{1,64}$/.test(given) ? given : crypto.randomUUID();
}

/** How long the caller waits for the outcome (RFC 7240, "wait"), in milliseconds. */
export function waitMsOf(prefer: string | undefined): number {
  const seconds = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])/i.exec(prefer ?? '')?.[1];
  return Math.min(seconds === undefined ? defaultWaitS : Number(seconds), maxWaitS) * 1_000;
}

/** The body as text; INVALID_ARGUMENT when it has more than the API takes. Begins to read before it first waits. */
export async function readBody(request: Request): Promise<string> {
  const length = request.headers.get('content-length');
  if (length !== null && Number(length) > maxBodyBytes) throw tooLong();
  return length === null ? readUnknownLength(request) : request.text();
}

/** The body as the schema has it; INVALID_ARGUMENT names the first thing that is wrong. */
export function parseBody<T>(text: string, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(parseJson(text));
  if (!parsed.success) throw new Problem('INVALID_ARGUMENT', describeIssue(parsed.error, { root: 'body' }));
  return parsed.data;
}

async function readUnknownLength(request: Request): Promise<string> {
  if (!request.body) return '';
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  for await (const chunk of request.body as ReadableStream<Uint8Array> & AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    if (length > maxBodyBytes) throw tooLong();
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, mayNameProto.test(text) ? refuseProto : undefined);
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem('INVALID_ARGUMENT', 'body: not JSON', error);
  }
}

/** A schema would drop such a key, wherever it is, instead of refusing it. */
function refuseProto(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new Problem('INVALID_ARGUMENT', 'body: "__proto__" is not known');
  return value;
}

function tooLong(): Problem {
  return new Problem('INVALID_ARGUMENT', `body: more than ${maxBodyBytes} bytes`);
}
