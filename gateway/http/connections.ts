import { readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { totalmem } from 'node:os';
import { pause } from '../../src/lib/concurrency.ts';

/** How long a caller may take: for a handshake and a request's head, and for the whole of a request, in milliseconds. */
export const requestLimits = {
  headersTimeout: 10_000,
  handshakeTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 1_000,
} as const;

/** More are never needed: a controller has at most 64. */
const usualMost = 1_024;
/** What one connection may take, with what is read ahead of its body, in bytes. */
const bytesPerConnection = 2 ** 18;
/** How long a caller may read an answer that came before the end of its request, in milliseconds. */
const lingerMs = 500;
/** A client sends one request after another; where encryption reports an answer late, a second one is there before. */
const mostUnanswered = 8;
/** So many refusals are answered at once, and then one in so many milliseconds; none waits longer than the last. */
const refusals = { atOnce: 50, everyMs: 20, mostMs: 1_000 } as const;

/** How many connections may be open: they get half of the descriptors, and a quarter of the memory, that the process may have. */
export function mostConnections(limits = readFileSync('/proc/self/limits', 'utf8')): number {
  const descriptors = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  const memory = Math.min(process.constrainedMemory() || Infinity, totalmem());
  return Math.floor(Math.min(usualMost, descriptors / 2, memory / 4 / bytesPerConnection));
}

/** The connections of a server that are open. */
export type Connections = {
  /** Waits until a request of which nothing comes but a refusal is answered, so that asking again and again takes little. */
  refuse(request: IncomingMessage): Promise<void>;
};

type Connection = { readonly socket: Socket; unanswered: number };

/**
 * Keeps at most so many connections open: for each one more the one is closed that has been idle longest, and where none
 * is idle the new one. A connection is idle while no request is served on it, so also before the end of a request's head,
 * and while a refusal waits. One that asks on and on before it is answered is closed.
 */
export function limitConnections(server: Server, most: number): Connections {
  const open = new Map<string, Connection>();
  const keyOf = createKeyOf();
  /** In the order in which they became idle. */
  const idle = new Set<string>();
  const waitToRefuse = createPace();
  server.prependListener('connection', (socket: Socket) => {
    const key = keyOf(socket);
    if (open.size >= most) {
      const [oldest] = idle;
      const closed = oldest === undefined ? socket : open.get(oldest)?.socket;
      closed?.destroy();
      if (oldest === undefined) return;
      idle.delete(oldest);
      open.delete(oldest);
    }
    open.set(key, { socket, unanswered: 0 });
    idle.add(key);
    socket.once('close', () => {
      open.delete(key);
      idle.delete(key);
    });
  });
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const key = keyOf(socket);
    const connection = open.get(key);
    if (!connection) return;
    idle.delete(key);
    if (++connection.unanswered > mostUnanswered) return void socket.destroy();
    response.once('close', () => {
      if (--connection.unanswered === 0 && open.get(key) === connection) idle.add(key);
    });
  });
  return {
    refuse({ socket }) {
      const key = keyOf(socket);
      if (open.has(key)) idle.add(key);
      return waitToRefuse();
    },
  };
}

/** Serves no request of a connection that was closed before, of which Node.js still reports all that came with the last one. */
export function whileOpen(listener: RequestListener): RequestListener {
  return (request, response) => {
    if (!request.socket.destroyed) listener(request, response);
  };
}

/** Lets so many pass at once, and then one after another. */
function createPace(): () => Promise<void> {
  const { atOnce, everyMs, mostMs } = refusals;
  let untilMs = 0;
  return async () => {
    const nowMs = performance.now();
    untilMs = Math.min(Math.max(untilMs, nowMs - atOnce * everyMs) + everyMs, nowMs + mostMs);
    if (untilMs > nowMs) await pause(untilMs - nowMs);
  };
}

/**
 * Reads nothing more of a request that is answered before it has come whole, and ends its connection. That stays half
 * open for a moment: closed with bytes unread it would be reset, and the caller could lose the answer.
 */
export function leaveUnread(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return;
  const { socket } = request;
  response.setHeader('connection', 'close');
  // Of a request that has no reader Node.js reads the rest, and drops it.
  request.on('readable', () => {});
  // Node.js calls it when the answer is written.
  socket.destroySoon = () => {
    socket.end();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };
}

/** The same for a connection and what is encrypted on it; asked of each request, it is made once for each. */
function createKeyOf(): (socket: Socket) => string {
  const keys = new WeakMap<Socket, string>();
  return socket => keys.getOrInsertComputed(socket, makeKey);
}

function makeKey({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
