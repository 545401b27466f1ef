import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

// To import it is to read all that it exports, and so to load what it loads late: fetch, WebSocket, 4 MB.
const { createServer } = process.getBuiltinModule('node:http');

/** One page: its status and its text. */
export type Page = { readonly status: number; readonly text: string };

/** Where to listen (port 0 takes a free one), and what to show at which path. */
export type HttpOptions = {
  readonly host: string;
  readonly port: number;
  readonly pages: Readonly<Record<string, () => Promise<Page>>>;
  /** Told of a page that could not be made, which is answered with 500. */
  readonly failed: (path: string, error: unknown) => void;
};

/** An HTTP server that answers GET and HEAD. */
export interface HttpServer {
  /** `host:port` as it listens. */
  readonly address: string;
  close(): Promise<void>;
}

const requestTimeoutMs = 5_000;
const maxConnections = 32;

/** Listens; where it cannot is an error. Request bodies are not read, and connections are few and short. */
export async function startHttp({ host, port, pages, failed }: HttpOptions): Promise<HttpServer> {
  const server = createServer({ requestTimeout: requestTimeoutMs, maxHeaderSize: 8_192 });
  server.maxConnections = maxConnections;
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    answer(request, pages).then(
      page => send(response, page),
      (error: unknown) => {
        failed(pathOf(request), error);
        send(response, { status: 500, text: 'it cannot be told\n' });
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: Error): void => reject(explain(error, `${host}:${port}`));
    server.once('error', refuse).listen(port, host, resolve);
  });
  const { address, port: bound } = server.address() as AddressInfo;
  return {
    address: address.includes(':') ? `[${address}]:${bound}` : `${address}:${bound}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** What keeps a server from listening, for whoever chose the address. */
const reasons: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  EADDRNOTAVAIL: 'this machine has no such address',
};

function explain(error: NodeJS.ErrnoException, address: string): Error {
  const reason = reasons[error.code ?? ''];
  return reason === undefined
    ? error
    : new Error(`cannot listen on "${address}": ${reason}`, { cause: error });
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.replace(/\?.*$/s, '');
}

async function answer(request: IncomingMessage, pages: HttpOptions['pages']): Promise<Page> {
  const { method } = request;
  const path = pathOf(request);
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (!page) return { status: 404, text: 'not found\n' };
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, text: 'only GET and HEAD\n' };
  return page();
}

function send(response: ServerResponse, { status, text }: Page): void {
  response.writeHead(status, {
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'x-content-type-options': 'nosniff',
    ...(status === 405 && { allow: 'GET, HEAD' }),
  });
  response.end(response.req.method === 'HEAD' ? undefined : text);
}
