import { readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { totalmem } from 'node:os';
import { createPace } from '../../src/lib/concurrency.ts';

/** Time limits for a caller, in milliseconds: for the handshake, for a request's head, and for a whole request. */
export const requestLimits = {
  headersTimeout: 10_000,
  handshakeTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 1_000,
} as const;

/** The usual maximum, which is ample: a controller has at most 64 connections. */
const usualMax = 1_024;
/** The maximum memory of one connection, read-ahead of a body included, in bytes. */
const bytesPerConnection = 2 ** 18;
/** The maximum time to read an early answer, before the end of its request, in milliseconds. */
const lingerMs = 500;
/**
 * The maximum of unanswered requests of a connection. A client sends one after another, but with TLS the next may
 * arrive before the end of an answer is reported.
 */
const maxUnanswered = 8;
const refusals = { burst: 50, everyMs: 20, maxMs: 1_000 } as const;

/** The maximum number of open connections: they get half of the process's descriptors, and a quarter of its memory. */
export function maxConnections(limits = readFileSync('/proc/self/limits', 'utf8')): number {
  const descriptors = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  const memory = Math.min(process.constrainedMemory() || Infinity, totalmem());
  return Math.floor(Math.min(usualMax, descriptors / 2, memory / 4 / bytesPerConnection));
}

export type Connections = {
  /**
   * Delays the answer to a request that is refused, so that endless retries cost little. Its connection counts as
   * idle meanwhile.
   */
  refuse(request: IncomingMessage): Promise<void>;
};

type Connection = { readonly socket: Socket; unanswered: number };

/**
 * Limits the number of open connections. Each further connection closes the one that has been idle longest, or itself
 * if none is idle. A connection is idle while no request is served on it, so also before the end of a request's head
 * and while a refusal waits. A connection with too many unanswered requests is closed.
 */
export function limitConnections(server: Server, maxOpen: number): Connections {
  const open = new Map<string, Connection>();
  const keyOf = createKeyOf();
  /** Idle connections, the longest idle first. */
  const idle = new Set<string>();
  const waitToRefuse = createPace(refusals);
  server.prependListener('connection', (socket: Socket) => {
    const key = keyOf(socket);
    if (open.size >= maxOpen) {
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
    if (++connection.unanswered > maxUnanswered) return void socket.destroy();
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

/** Ignores requests of a closed connection: Node.js still reports all requests that arrived in its last packet. */
export function whileOpen(listener: RequestListener): RequestListener {
  return (request, response) => {
    if (!request.socket.destroyed) listener(request, response);
  };
}

/**
 * Stops reading a request that is answered before its end, and ends its connection. The connection stays half open
 * for a moment, because closing it with unread bytes would reset it, and the caller could lose the answer.
 */
export function leaveUnread(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return;
  const { socket } = request;
  response.setHeader('connection', 'close');
  // Without a listener Node.js would read the rest of the request and drop it.
  request.on('readable', () => {});
  // Node.js calls `destroySoon` when the answer is written.
  socket.destroySoon = () => {
    socket.end();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };
}

/**
 * Creates keys for connections, the same for a TCP socket and the TLS socket on it. Each socket's key is made once,
 * since every request needs it.
 */
function createKeyOf(): (socket: Socket) => string {
  const keys = new WeakMap<Socket, string>();
  return socket => keys.getOrInsertComputed(socket, toKey);
}

function toKey({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
