import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Log } from './log.ts';

// To import it is to read all that it exports, and so to load what it loads late: fetch, WebSocket, 4 MB.
const { createServer } = process.getBuiltinModule('node:http');

/** One page: its status and its text. */
export type Page = { readonly status: number; readonly text: string };

const limits = { requestTimeout: 5_000, connectionsCheckingInterval: 1_000, maxHeaderSize: 8_192 };
/** Most connections that ask for nothing, and as many that do. */
const mostIdle = 32;

/**
 * Serves pages by their paths, for GET and HEAD, on `address` (`host:port`; port 0 takes a free one), or throws. A page that
 * cannot be made is logged, and is 500. Request bodies are not read, and connections are few and short: of too many that
 * ask for nothing the oldest is closed, so that they hold up nobody who looks whether the program is well.
 */
export async function startPages(
  { host, port }: { readonly host: string; readonly port: number },
  pages: ReadonlyMap<string, () => Promise<Page>>,
  log: Log,
) {
  const answer = async ({ method, url = '' }: IncomingMessage): Promise<Page> => {
    const path = url.replace(/\?.*$/s, '');
    const makePage = pages.get(path);
    if (!makePage) return { status: 404, text: 'not found\n' };
    if (method !== 'GET' && method !== 'HEAD') return { status: 405, text: 'only GET and HEAD\n' };
    try {
      return await makePage();
    } catch (error) {
      log.error('a page could not be made', { path, detail: String(error) });
      return { status: 500, text: 'the page could not be made\n' };
    }
  };
  const idle = new Set<Socket>();
  const server = createServer(limits, (request, response) => {
    idle.delete(request.socket);
    response.once('close', () => request.socket.destroyed || idle.add(request.socket));
    void answer(request).then(page => send(response, page));
  });
  server.on('connection', (socket: Socket) => {
    idle.add(socket);
    socket.once('close', () => idle.delete(socket));
    if (idle.size > mostIdle) idle.values().next().value?.destroy();
  });
  server.maxConnections = 2 * mostIdle;
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
