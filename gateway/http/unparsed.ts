import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { Problem, toDocument } from '../../src/api/problem.ts';
import type { Log } from '../../src/lib/log.ts';

/** The statuses of requests that never become one; any other is malformed. */
const statuses: Readonly<Record<string, readonly [status: number, reason: string, detail: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'the headers of the request are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'Content Too Large', 'the body of the request is chopped too much'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'the request did not come in time'],
};
const malformed = [400, 'Bad Request', 'what came is no HTTP request'] as const;

/**
 * Answers what the HTTP parser cannot read with a problem document, too, and closes the connection. The code is one that
 * decides nothing: who asked is not known, nor what, and what was asked before may still be running.
 */
export function answerUnparsed(server: Server, log: Log): void {
  const answering = new WeakSet<Duplex>();
  server.on('request', ({ socket }, response) => {
    answering.add(socket);
    response.once('close', () => answering.delete(socket));
  });
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket) => {
    // Into an answer that is being written no other can be put, and nobody is there to read one after a reset.
    if (!socket.writable || answering.has(socket) || code === 'ECONNRESET') return void socket.destroy();
    const [status, reason, detail] = statuses[code] ?? malformed;
    const requestId = crypto.randomUUID();
    log.info('refused', { requestId, code: 'UNAVAILABLE', detail: `${detail} (${code})` });
    socket.end(toAnswer(`${status} ${reason}`, requestId, { status, detail }));
  });
}

function toAnswer(
  line: string,
  requestId: string,
  { status, detail }: { readonly status: number; readonly detail: string },
): string {
  const body = JSON.stringify({ ...toDocument(new Problem('UNAVAILABLE', detail), requestId), status });
  return [
    `HTTP/1.1 ${line}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
