import type { Dispatcher } from 'undici';
import buildConnector from 'undici/lib/core/connect.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { createAnswer, type Exchange, type ExchangeOptions, type Reply, type TlsFiles } from './exchange.ts';

const connectTimeoutMs = 5_000;

/** Creates an exchange for Node.js. It opens connections when they are needed and keeps them for a while. */
export function createExchange({
  url: address,
  connections = 64,
  requestTimeoutMs = 0,
  tls,
}: ExchangeOptions): Exchange {
  const url = new URL(address);
  const base = url.pathname.replace(/\/+$/, '');
  const pool = new Pool(url.origin, {
    connections,
    // Retries and limits assume one request at a time per connection.
    allowH2: false,
    connect: tls ? connectWith(tls) : { timeout: connectTimeoutMs },
    keepAliveTimeout: 4_000,
    headersTimeout: requestTimeoutMs,
    bodyTimeout: requestTimeoutMs,
  });
  return {
    send: ({ method, path, headers, body }, signal) =>
      exchange(pool, { method: method as Dispatcher.HttpMethod, path: base + path, headers, body }, signal),
    close: () => pool.destroy(),
  };
}

function connectWith(tls: () => Promise<TlsFiles>): buildConnector.connector {
  return async (options, callback) => {
    try {
      // It throws for a certificate and a key that are no pair.
      buildConnector({ ...(await tls()), allowH2: false, timeout: connectTimeoutMs })(options, callback);
    } catch (error) {
      callback(error as Error, null);
    }
  };
}

/** Sends a request with undici's handlers, since undici's streams would live until a major garbage collection. */
function exchange(pool: Pool, request: Dispatcher.DispatchOptions, signal: AbortSignal): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const answer = createAnswer();
  let running: Dispatcher.DispatchController | undefined;
  const abort = (): void => {
    running?.abort(signal.reason as Error);
    reject(signal.reason);
  };
  signal.addEventListener('abort', abort);
  pool.dispatch(request, {
    onRequestStart(controller) {
      running = controller;
      if (signal.aborted) abort();
    },
    onResponseStart(controller, status, headers) {
      const { 'content-type': contentType, 'content-encoding': contentEncoding } = headers;
      const head = { status, contentType, contentEncoding, retryAfter: headers['retry-after'] };
      orAbort(controller, () => answer.begin(head));
    },
    onResponseData: (controller, chunk) => orAbort(controller, () => answer.add(chunk)),
    onResponseEnd() {
      const reply = answer.reply();
      if (reply) resolve(reply);
    },
    onResponseError: (_controller, error) => reject(error),
  });
  return promise.finally(() => signal.removeEventListener('abort', abort));
}

function orAbort(controller: Dispatcher.DispatchController, work: () => void): void {
  try {
    work();
  } catch (error) {
    controller.abort(error as Error);
  }
}
