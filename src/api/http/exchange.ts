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
export type Asked = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
};

/** What sends single requests. A redirect is an answer like others, and is not followed. */
export interface Exchange {
  /** What came back; rejects with the signal's reason, or with why nothing did. */
  send(asked: Asked, signal: AbortSignal): Promise<Reply>;
  /** Ends all connections at once. */
  close(): Promise<void>;
}

const tooLong = new Problem('UNAVAILABLE', `the storage API answered with more than ${maxBodyBytes} bytes`);

/** What was answered, as its parts come; `add` throws once there is more than an answer may have. */
export function createAnswer() {
  let length = 0;
  const chunks: Uint8Array[] = [];
  return {
    add(chunk: Uint8Array): void {
      length += chunk.length;
      if (length > maxBodyBytes) throw tooLong;
      chunks.push(chunk);
    },
    reply(status: number, headers: Readonly<Record<'contentType' | 'retryAfter', unknown>>): Reply {
      const isJson = /^application\/(problem\+)?json\b/i.test(String(headers.contentType));
      const body = isJson ? parseJson(Buffer.concat(chunks).toString()) : undefined;
      return { status, retryAfterMs: Number(headers.retryAfter ?? NaN) * 1_000, body };
    },
  };
}
