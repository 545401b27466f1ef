import { reasonOf } from '../../lib/words/failures.ts';
import { request as requestHttp, type Agent, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { parseBody, readBody } from '../../api/http/body.ts';
import { Problem } from '../../api/problem.ts';

/** The vendor's address, and the certificates for connections to it. */
export type Target = {
  readonly url: URL;
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
};

/** A request. The body is sent unchanged, and a list of pieces as chunks. */
export type RawRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | readonly string[] | undefined;
};

/** The ids, the query and the body of a call of any operation. */
export type AnyInput = Readonly<Record<string, unknown>>;

/** An answer. `body` is the parsed text. */
export type RawAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly body: unknown;
};

/** A request with its answer, or with the error that ended its connection. */
export type Exchange = {
  readonly request: RawRequest;
  readonly answer?: RawAnswer;
  readonly error?: string;
  /** True if the caller gave the request up, such as at its time limit. */
  readonly isGivenUp?: boolean;
  /** True if changes at the path overlapped this request or each other, so that their order is unknown. */
  readonly isUnordered?: boolean;
  readonly tookMs: number;
};

export type SendOptions = {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The port of a proxy on this machine; absent for a direct connection. */
  readonly port?: number | undefined;
  /** The agent that keeps connections open; without it each request has its own. */
  readonly agent?: Agent | false;
};

/** Sends a request once. Never throws: without a complete answer in time the exchange has an error. */
export async function sendRequest(
  target: Target,
  request: RawRequest,
  sendOptions: SendOptions,
): Promise<Exchange> {
  const startedMs = performance.now();
  const outcome = await send(target, request, sendOptions).then(
    answer => ({ answer }),
    (error: unknown) => ({
      error: error instanceof Problem ? error.detail : reasonOf(error),
      isGivenUp: error instanceof Error && error.name === 'AbortError',
    }),
  );
  return { request, ...outcome, tookMs: Math.round(performance.now() - startedMs) };
}

function send(
  { url, tls }: Target,
  { method, path, headers, body }: RawRequest,
  sendOptions: SendOptions,
): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
  const { port, timeoutMs, signal, agent = false } = sendOptions;
  const isDirect = port === undefined;
  const pieces = typeof body === 'string' ? [body] : body;
  const length = typeof body === 'string' ? { 'content-length': String(Buffer.byteLength(body)) } : {};
  const start = isDirect && url.protocol === 'https:' ? requestHttps : requestHttp;
  const sent = start({
    ...(isDirect ? addressOf(url) : { host: '127.0.0.1', port }),
    method,
    path: url.pathname.replace(/\/+$/, '') + path,
    headers: { host: url.host, ...headers, ...length },
    agent,
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    ...(isDirect && tls),
  });
  sent.once('error', reject).once('response', response => read(response).then(resolve, reject));
  for (const piece of pieces ?? []) sent.write(piece);
  sent.end();
  return promise;
}

export function addressOf({ hostname, port, protocol }: URL) {
  const host = hostname.replace(/^\[|\]$/g, '');
  return { host, port: Number(port || (protocol === 'https:' ? 443 : 80)) };
}

async function read(response: IncomingMessage): Promise<RawAnswer> {
  const { statusCode: status = 0, headers } = response;
  const encoded = { chunks: response, encoding: headers['content-encoding'] };
  const text = await readBody(encoded, { from: 'the vendor' });
  return { status, headers, text, body: text === '' ? undefined : parseBody(text) };
}

/** Writes a request as a curl command, with $TOKEN in place of the credentials. */
export function toCurl({ url }: Target, { method, path, headers, body }: RawRequest): string {
  const shown = Object.entries(headers).map(([name, value]) =>
    name === 'authorization' ? '-H "Authorization: Bearer $TOKEN"' : `-H ${quote(`${name}: ${value}`)}`,
  );
  const data = body === undefined ? [] : ['--data-binary', quote(bodyText(body))];
  const where = quote(url.href.replace(/\/+$/, '') + path);
  return ['curl', '-i', '--path-as-is', '-X', method, ...shown, ...data, where].join(' ');
}

/** Returns the whole body of a request; empty without one. */
export function bodyText(body: RawRequest['body'] = ''): string {
  return typeof body === 'string' ? body : body.join('');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
