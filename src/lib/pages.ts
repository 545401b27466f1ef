import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createPace, withinTime } from './concurrency.ts';
import type { Log } from './log.ts';

// A static import would load all that node:http exports, fetch and WebSocket included: 4 MB.
const { createServer } = process.getBuiltinModule('node:http');

export type Page = { readonly status: number; readonly text: string };

/** The time limit of a whole exchange: the request arrives, the page is made and sent, and the caller reads it. */
const exchangeMs = 5_000;
const serverOptions = {
  requestTimeout: exchangeMs,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 8_192,
};
const maxConnections = 64;
/** The time in ms that an answer is reused; a probe's answer is not. */
const sharedMs = 1_000;
const probes: ReadonlySet<string> = new Set(['/healthz', '/readyz']);
/**
 * The first answers are immediate, further ones at this pace. A probe waits for less than kubelet's shortest time
 * limit.
 */
const paces = {
  probe: { burst: 100, everyMs: 5, maxMs: 250 },
  page: { burst: 20, everyMs: 50, maxMs: 1_000 },
} as const;

type Answer = { readonly status: number; readonly body: Buffer };
type PageMaker = () => Promise<Page>;

/**
 * Serves pages by their paths, for GET and HEAD, on `address` (`host:port`; port 0 takes a free one), or throws. A
 * page that cannot be made is logged, and answered with 500. Callers need no token, so their number and speed must
 * cost little: pages are shared, answers are paced, and an exchange ends after 5 s. Of too many connections the
 * oldest is closed, and a probe's connection last. So no probe fails because of idle connections, or of clients that
 * never read.
 */
export async function startPages(
  { host, port }: { readonly host: string; readonly port: number },
  pages: ReadonlyMap<string, PageMaker>,
  log: Log,
) {
  const answers = new Map([...pages].map(([path, create]) => [path, shareAnswers(path, create, log)]));
  const [paceProbe, pacePage] = [createPace(paces.probe), createPace(paces.page)];
  const connections = createConnections();
  const server = createServer(serverOptions, (request, response) => {
    const path = (request.url ?? '').replace(/\?.*$/s, '');
    const isProbe = probes.has(path);
    connections.begin(request.socket, isProbe);
    response.once('close', () => connections.end(request.socket));
    void (isProbe ? paceProbe : pacePage)()
      .then(() => answer(request, answers.get(path)))
      .then(found => send(response, found));
  });
  server.on('connection', connections.add);
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

/** The open connections; first the one without activity for the longest time. */
function createConnections() {
  const open = new Map<Socket, { timer?: NodeJS.Timeout; isProbe: boolean }>();
  /** Moves a connection behind all others, and restarts the time limit of its exchange. */
  const renew = (socket: Socket, isProbe: boolean): void => {
    clearTimeout(open.get(socket)?.timer);
    open.delete(socket);
    if (socket.destroyed) return;
    open.set(socket, { timer: setTimeout(() => socket.destroy(), exchangeMs).unref(), isProbe });
  };
  const closeOldest = (): void => {
    const all = [...open];
    const [oldest] = all.find(([, { isProbe }]) => !isProbe) ?? all[0] ?? [];
    oldest?.destroy();
  };
  return {
    add(socket: Socket): void {
      if (open.size >= maxConnections) closeOldest();
      renew(socket, false);
      socket.once('close', () => {
        clearTimeout(open.get(socket)?.timer);
        open.delete(socket);
      });
    },
    begin: renew,
    end: (socket: Socket): void => renew(socket, false),
  };
}

/**
 * Makes a page's answer once for all callers that come while it is being made; a page other than a probe also for the
 * next second.
 */
function shareAnswers(path: string, create: PageMaker, log: Log): () => Promise<Answer> {
  const keepMs = probes.has(path) ? 0 : sharedMs;
  let shared: Promise<Answer> | undefined;
  const createAnswer = async (): Promise<Answer> => {
    try {
      const page = await withinTime(create(), exchangeMs);
      if (!page) throw new Error(`it took more than ${exchangeMs / 1_000} s`);
      return plain(page.value.status, page.value.text);
    } catch (error) {
      log.error('a page could not be made', { path, detail: String(error) });
      return plain(500, 'the page could not be made\n');
    } finally {
      if (keepMs === 0) shared = undefined;
      else setTimeout(() => (shared = undefined), keepMs).unref();
    }
  };
  return () => (shared ??= createAnswer());
}

async function answer(
  { method }: IncomingMessage,
  createAnswer: (() => Promise<Answer>) | undefined,
): Promise<Answer> {
  if (!createAnswer) return plain(404, 'not found\n');
  if (method !== 'GET' && method !== 'HEAD') return plain(405, 'only GET and HEAD\n');
  return createAnswer();
}

function plain(status: number, text: string): Answer {
  return { status, body: Buffer.from(text) };
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, {
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    'content-length': body.length,
    'x-content-type-options': 'nosniff',
    ...(status === 405 && { allow: 'GET, HEAD' }),
  });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
