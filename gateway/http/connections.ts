import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { totalmem } from 'node:os';

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

/** How many connections may be open: they get half of the descriptors, and a quarter of the memory, that the process may have. */
export function mostConnections(limits = readFileSync('/proc/self/limits', 'utf8')): number {
  const descriptors = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  const memory = Math.min(process.constrainedMemory() || Infinity, totalmem());
  return Math.floor(Math.min(usualMost, descriptors / 2, memory / 4 / bytesPerConnection));
}

/**
 * Keeps at most so many connections open: for each one more the one is closed that has been idle longest, and where none
 * is idle the new one. A connection is idle while no request is served on it, so also before the end of a request's head.
 */
export function limitConnections(server: Server, most: number): void {
  const open = new Map<string, Socket>();
  /** In the order in which they became idle. */
  const idle = new Set<string>();
  server.prependListener('connection', (socket: Socket) => {
    const key = keyOf(socket);
    if (open.size >= most) {
      const [oldest] = idle;
      const closed = oldest === undefined ? socket : open.get(oldest);
      closed?.destroy();
      if (oldest === undefined) return;
      idle.delete(oldest);
      open.delete(oldest);
    }
    open.set(key, socket);
    idle.add(key);
    socket.once('close', () => {
      if (open.get(key) !== socket) return;
      open.delete(key);
      idle.delete(key);
    });
  });
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const key = keyOf(socket);
    idle.delete(key);
    response.once('close', () => {
      if (open.has(key)) idle.add(key);
    });
  });
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

/** The same for a connection and what is encrypted on it. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
