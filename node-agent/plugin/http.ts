import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

// To import it is to read all that it exports, and so to load what it loads late: fetch, WebSocket, 4 MB.
const { createServer } = process.getBuiltinModule('node:http');

/** One page: its status and its text. */
export type Page = { readonly status: number; readonly text: string };

/** Where to listen (port 0 takes a free one), and what to show at which path. */
type HttpOptions = {
  readonly host: string;
  readonly port: number;
  readonly pages: ReadonlyMap<string, () => Promise<Page>>;
  /** Called for a page that could not be made, which is answered with 500. */
  readonly failed: (path: string, error: unknown) => void;
};

const limits = { requestTimeout: 5_000, maxHeaderSize: 8_192 };
const maxConnections = 32;

/**
 * Answers GET and HEAD on `address` (`host:port` as it listens); where it cannot listen is an error. Request bodies are
 * not read, and connections are few and short.
 */
export async function startHttp({ host, port, pages, failed }: HttpOptions) {
  const answer = async ({ method, url = '' }: IncomingMessage): Promise<Page> => {
    const path = url.replace(/\?.*$/s, '');
    const makePage = pages.get(path);
    if (!makePage) return { status: 404, text: 'not found\n' };
    if (method !== 'GET' && method !== 'HEAD') return { status: 405, text: 'only GET and HEAD\n' };
    try {
      return await makePage();
    } catch (error) {
      failed(path, error);
      return { status: 500, text: 'the page could not be made\n' };
    }
  };
  const server = createServer(limits, (request, response) => {
    void answer(request).then(page => send(response, page));
  });
  server.maxConnections = maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve);
  });
  const { address, port: bound } = server.address() as AddressInfo;
  return {
    address: address.includes(':') ? `[${address}]:${bound}` : `${address}:${bound}`,
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
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
