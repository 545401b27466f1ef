import { request as requestHttp, type Agent, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { maxBodyBytes } from '../../../api/operations.ts';
import { parseJson } from '../../../lib/json.ts';

/** Where the vendor listens, and the certificates with which it is called. */
export type Target = {
  readonly url: URL;
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
};

/** A request as it is sent; `body` is sent as it is, in the pieces that it has. */
export type Outgoing = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | readonly string[] | undefined;
};

/** What came back; `body` is what the text says as JSON. */
export type Incoming = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly body: unknown;
};

/** A request with what came of it: an answer, or the error that ended its connection. */
export type Exchange = {
  readonly request: Outgoing;
  readonly answer?: Incoming;
  readonly error?: string;
  readonly tookMs: number;
};

/** How one request travels. `port` is that of a proxy on this machine; an agent keeps connections. */
export type Travel = {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly port?: number | undefined;
  readonly agent?: Agent | false;
};

/** Sends one request, once; resolves always, with an error where no whole answer came in time. */
export async function exchange(target: Target, outgoing: Outgoing, travel: Travel): Promise<Exchange> {
  const startedMs = performance.now();
  const outcome = await send(target, outgoing, travel).then(
    answer => ({ answer }),
    (error: NodeJS.ErrnoException) => ({ error: error.code ?? error.message }),
  );
  return { request: outgoing, ...outcome, tookMs: Math.round(performance.now() - startedMs) };
}

function send(
  { url, tls }: Target,
  { method, path, headers, body }: Outgoing,
  travel: Travel,
): Promise<Incoming> {
  const { promise, resolve, reject } = Promise.withResolvers<Incoming>();
  const { port, timeoutMs, signal, agent = false } = travel;
  const isDirect = port === undefined;
  const pieces = typeof body === 'string' ? [body] : body;
  const length = typeof body === 'string' ? { 'content-length': String(Buffer.byteLength(body)) } : {};
  const start = isDirect && url.protocol === 'https:' ? requestHttps : requestHttp;
  const sent = start({
    host: isDirect ? url.hostname.replace(/^\[|\]$/g, '') : '127.0.0.1',
    port: isDirect ? url.port || (url.protocol === 'https:' ? 443 : 80) : port,
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

async function read(response: IncomingMessage): Promise<Incoming> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBodyBytes) throw new Error(`an answer of more than ${maxBodyBytes} bytes`);
  }
  const text = Buffer.concat(chunks).toString();
  const { statusCode: status = 0, headers } = response;
  return { status, headers, text, body: text === '' ? undefined : parseJson(text) };
}

/** The request as a line for a shell; credentials are left for a variable. */
export function toCurl({ url }: Target, { method, path, headers, body }: Outgoing): string {
  const shown = Object.entries(headers).map(([name, value]) =>
    name === 'authorization' ? '-H "Authorization: Bearer $TOKEN"' : `-H ${quote(`${name}: ${value}`)}`,
  );
  const text = typeof body === 'object' ? body.join('') : body;
  const data = text === undefined ? [] : ['--data-binary', quote(text)];
  const where = quote(url.href.replace(/\/+$/, '') + path);
  return ['curl', '-i', '--path-as-is', '-X', method, ...shown, ...data, where].join(' ');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
