import type { Dispatcher } from 'undici';
import buildConnector from 'undici/lib/core/connect.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { createAnswer, type Exchange, type ExchangeOptions, type Reply, type TlsFiles } from './exchange.ts';

const connectTimeoutMs = 5_000;

/** Makes what sends single requests from Node.js; connections are opened when needed and kept for a while. */
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
    // Retries and limits are made for one request at a time on a connection.
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
    let files: TlsFiles;
    try {
      files = await tls();
    } catch (error) {
      callback(error as Error, null);
      return;
    }
    buildConnector({ ...files, allowH2: false, timeout: connectTimeoutMs })(options, callback);
  };
}

/** By undici's handlers: each stream that it makes lives until a major collection. */
function exchange(pool: Pool, asked: Dispatcher.DispatchOptions, signal: AbortSignal): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const answer = createAnswer();
  let running: Dispatcher.DispatchController | undefined;
  let head: Parameters<typeof answer.reply> | undefined;
  const abort = (): void => {
    running?.abort(signal.reason as Error);
    reject(signal.reason);
  };
  signal.addEventListener('abort', abort);
  pool.dispatch(asked, {
    onRequestStart(controller) {
      running = controller;
      if (signal.aborted) abort();
    },
    onResponseStart(_controller, status, headers) {
      head = [status, { contentType: headers['content-type'], retryAfter: headers['retry-after'] }];
    },
    onResponseData(controller, chunk) {
      try {
        answer.add(chunk);
      } catch (error) {
        controller.abort(error as Error);
      }
    },
    onResponseEnd() {
      if (head) resolve(answer.reply(...head));
    },
    onResponseError: (_controller, error) => reject(error),
  });
  return promise.finally(() => signal.removeEventListener('abort', abort));
}
