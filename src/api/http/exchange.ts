import { createBody, parseBody, requirePlain } from './body.ts';

/** A reply; `body` is the parsed JSON or undefined, and `retryAfterMs` is NaN without a Retry-After. */
export type Reply = { readonly status: number; readonly retryAfterMs: number; readonly body: unknown };

/** PEM files: `ca` replaces the system's trusted certificates; `cert` and `key` are the client's certificate. */
export type TlsFiles = { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer };

/** The address of a server, and the limits of its connections. */
export type ExchangeOptions = {
  readonly url: string;
  /** Maximum requests at a time, each on its own connection; further requests wait. */
  readonly connections?: number | undefined;
  /** Maximum time without an answer, in milliseconds; absent: the time of the call. */
  readonly requestTimeoutMs?: number | undefined;
  /** Called for each new connection, so that certificates can be renewed. */
  readonly tls?: (() => Promise<TlsFiles>) | undefined;
};

/** A request; its path is relative to the path of the address. */
export type ExchangeRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
};

/** Sends single requests. Redirects are not followed but returned like other answers. */
export interface Exchange {
  /** Sends a request and returns the reply; rejects with the signal's reason or with the failure. */
  send(request: ExchangeRequest, signal: AbortSignal): Promise<Reply>;
  /** Ends all connections at once. */
  close(): Promise<void>;
}

/** The head of an answer; a missing header is undefined or null. */
type AnswerHead = {
  readonly status: number;
  readonly contentType: unknown;
  readonly contentEncoding: unknown;
  readonly retryAfter: unknown;
};

const source = { from: 'the storage API', outage: 'errors' } as const;

/** Collects an answer from its parts; `begin` throws for a compressed answer, and `add` for one that is too long. */
export function createAnswer() {
  const collected = createBody(source);
  let head: AnswerHead | undefined;
  return {
    begin(found: AnswerHead): void {
      requirePlain(found.contentEncoding, source);
      head = found;
    },
    add: collected.add,
    /** Returns the reply; undefined before `begin`. */
    reply(): Reply | undefined {
      if (!head) return undefined;
      const isJson = /^application\/(problem\+)?json\b/i.test(String(head.contentType));
      const body = isJson ? parseBody(collected.read()) : undefined;
      return { status: head.status, retryAfterMs: Number(head.retryAfter ?? NaN) * 1_000, body };
    },
  };
}
