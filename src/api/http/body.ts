import { parseJson } from '../../lib/json.ts';
import { maxAnswerBytes } from '../limits.ts';
import { type Outage, unavailableProblem, withOutage } from '../problem.ts';

type BodySource = {
  readonly from: string;
  readonly maxBytes?: number;
  /** The outage of a server whose body cannot be used; absent: the server is not the callee. */
  readonly outage?: Outage;
};

type EncodedBody = {
  readonly chunks: AsyncIterable<Uint8Array> | null;
  readonly encoding: unknown;
};

/** The header for an uncompressed body. Compressed ones are refused, since few bytes may expand to many. */
export const plainBody = { 'accept-encoding': 'identity' } as const;

/** Maximum nesting of a document; a deeper one is not parsed. */
const maxDepth = 64;
/** Maximum characters in one line of a stream; a line is one Kubernetes object. */
const maxLineLength = 4 * 1024 * 1024;

/** Collects a body from its chunks; `add` throws UNAVAILABLE if the body is longer than `maxBytes`. */
export function createBody({ from, maxBytes = maxAnswerBytes, outage }: BodySource) {
  let length = 0;
  const chunks: Uint8Array[] = [];
  return {
    add(chunk: Uint8Array): void {
      length += chunk.length;
      if (length > maxBytes)
        throw withOutage(unavailableProblem(`${from} answers more than ${maxBytes} bytes`), outage);
      chunks.push(chunk);
    },
    read(): string {
      const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
      const texts = chunks.map(chunk => decoder.decode(chunk, { stream: true }));
      return texts.join('') + decoder.decode();
    },
  };
}

/** UNAVAILABLE for a compressed body. */
export function requirePlain(encoding: unknown, { from, outage }: BodySource): void {
  if (encoding === undefined || encoding === null || /^\s*(identity)?\s*$/i.test(String(encoding))) return;
  const detail = `${from} answers with a compressed body, which was not asked for`;
  throw withOutage(unavailableProblem(detail), outage);
}

/** Reads a whole body; rejects and ends the stream if the body is compressed or too long. */
export async function readBody({ chunks, encoding }: EncodedBody, source: BodySource): Promise<string> {
  const body = createBody(source);
  for await (const chunk of readPlain({ chunks, encoding }, source)) body.add(chunk);
  return body.read();
}

/** Reads a body line by line until it ends; rejects if a line is too long. */
export async function* readLines(encoded: EncodedBody, source: BodySource): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of readPlain(encoded, source)) {
    const [head = '', ...tail] = decoder.decode(chunk, { stream: true }).split('\n');
    const lines = [rest + head, ...tail];
    rest = lines.pop() ?? '';
    if (rest.length > maxLineLength)
      throw unavailableProblem(`${source.from} answers a line of more than ${maxLineLength} characters`);
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** Sends one request and reads its whole answer within the time; a redirect is an error. */
export async function fetchBody(
  address: string,
  {
    timeoutMs,
    headers,
    ...request
  }: Omit<RequestInit, 'signal' | 'redirect'> & { readonly timeoutMs: number },
  source: BodySource,
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(address, {
    ...request,
    headers: { ...plainBody, ...(headers as Readonly<Record<string, string>>) },
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'error',
  });
  const encoded = { chunks: response.body, encoding: response.headers.get('content-encoding') };
  return { status: response.status, text: await readBody(encoded, source) };
}

/** Parses JSON; undefined for other text and for documents that are nested too deeply. */
export function parseBody(text: string): unknown {
  return isShallow(text) ? parseJson(text) : undefined;
}

async function* readPlain({ chunks, encoding }: EncodedBody, source: BodySource): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks ?? []) {
    // Checked inside the loop, since leaving the loop with an error ends the stream.
    requirePlain(encoding, source);
    yield chunk;
  }
}

/** Checks the nesting of a document by counting brackets outside of strings. */
function isShallow(text: string): boolean {
  let [depth, isString] = [0, false];
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === 0x22) isString = !isString;
    else if (isString) at += character === 0x5c ? 1 : 0;
    else if (character === 0x5b || character === 0x7b) depth++;
    else if (character === 0x5d || character === 0x7d) depth--;
    if (depth > maxDepth) return false;
  }
  return true;
}
