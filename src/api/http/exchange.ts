import type { Dispatcher } from 'undici';
import buildConnector from 'undici/lib/core/connect.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { parseJson } from '../../lib/json.ts';
import { maxBodyBytes } from '../operations.ts';
import { Problem } from '../problem.ts';

/** What came back; the body is what was read of JSON, or undefined. `retryAfterMs` is no number where nothing is said. */
export type Reply = { readonly status: number; readonly retryAfterMs: number; readonly body: unknown };

/** PEM: whose certificates are trusted instead of the system's, and what proves who connects. */
export type TlsFiles = { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer };

/** Where requests are sent, and how. */
export type ExchangeOptions = {
  readonly url: string;
  /** Most requests at a time, each with a connection of its own; others wait. */
  readonly connections?: number | undefined;
  /** How long one request may take to be answered; absent: as long as the call. */
  readonly requestTimeoutMs?: number | undefined;
  /** Asked for each new connection, so that certificates can be renewed. */
  readonly tls?: (() => Promise<TlsFiles>) | undefined;
};

/** A request; its path is below that of the address. */
type Asked = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
};

const tooLong = new Problem('UNAVAILABLE', `the storage API answered with more than ${maxBodyBytes} bytes`);
const connectTimeoutMs = 5_000;

/** Makes what sends single requests; connections are opened when needed and kept for a while. */
export function createExchange({
  url: address,
  connections = 64,
  requestTimeoutMs = 0,
  tls,
}: ExchangeOptions) {
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
    /** What came back; rejects with the signal's reason, or with why nothing did. */
    send: ({ method, path, headers, body }: Asked, signal: AbortSignal): Promise<Reply> =>
      exchange(pool, { method: method as Dispatcher.HttpMethod, path: base + path, headers, body }, signal),
    /** Ends all connections at once. */
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
  let running: Dispatcher.DispatchController | undefined;
  let head = { status: 0, retryAfterMs: 0 };
  let isJson = false;
  let length = 0;
  const chunks: Buffer[] = [];
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
      isJson = /^application\/(problem\+)?json\b/i.test(String(headers['content-type']));
      head = { status, retryAfterMs: Number(headers['retry-after']) * 1_000 };
    },
    onResponseData(controller, chunk) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBodyBytes) controller.abort(tooLong);
    },
    onResponseEnd() {
      const body = isJson ? parseJson(Buffer.concat(chunks).toString()) : undefined;
      resolve({ ...head, body });
    },
    onResponseError: (_controller, error) => reject(error),
  });
  return promise.finally(() => signal.removeEventListener('abort', abort));
}
