import { Pool, type Dispatcher } from 'undici';
import type { z } from 'zod';
import { openScope, pause, within, type Call, type Scope } from './call.ts';
import { isProblemCode, Problem } from './problem.ts';
import { problemSchema } from './resources.ts';
import { maxBodyBytes } from './routes.ts';

/** Where the API is, and what proves who calls. */
export type HttpOptions = {
  readonly url: string;
  /** A bearer token; `renew` asks for a new one because the last was not accepted. */
  readonly token: (renew: boolean) => Promise<string>;
  readonly connections?: number;
};

/** One request: `body` is sent as JSON, the answer is checked against `answer`; without it no body is expected. */
export type HttpRequest<T> = {
  readonly method: 'GET' | 'PUT' | 'DELETE' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly answer?: z.ZodType<T>;
};

/** What came back. `accepted` is a 202: the work goes on. */
export type HttpAnswer<T> = { readonly value: T | undefined; readonly accepted: boolean };

/** Speaks JSON over HTTP with one server. Every error it throws is a `Problem`. */
export interface Http {
  send<T>(request: HttpRequest<T>, call: Call): Promise<HttpAnswer<T>>;
  /** Ends all connections at once; what is still asked fails with UNAVAILABLE. */
  close(): Promise<void>;
}

type Reply = {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  /** Undefined when it is longer than a body may be. */
  readonly body: string | undefined;
  readonly json: boolean;
};

/** Tries at one request, the first included. All requests of the API may be repeated. */
const maxTries = 4;
const firstPauseMs = 50;
const connectTimeoutMs = 5_000;

/**
 * Makes the HTTP side of the client. A request is repeated on connection failure and on 503 with Retry-After, within
 * its deadline, and once with a new token after 401. A failure that is not a problem document is UNAVAILABLE.
 */
export function createHttp(options: HttpOptions): Http {
  const url = new URL(options.url);
  const base = url.pathname.replace(/\/+$/, '');
  const pool = new Pool(url.origin, {
    connections: options.connections ?? 64,
    // Retries and limits are made for one request at a time on a connection.
    allowH2: false,
    connect: { timeout: connectTimeoutMs },
    keepAliveTimeout: 4_000,
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  async function trySend(request: HttpRequest<unknown>, { call, scope, renew }: Try): Promise<Reply> {
    const token = await within(scope.signal, options.token(renew));
    const leftMs = call.deadlineMs - Date.now();
    const response = await pool.request({
      method: request.method,
      path: base + request.path,
      headers: {
        authorization: `Bearer ${token}`,
        prefer: `wait=${Math.max(0, Math.floor(leftMs / 1000 - 1))}`,
        ...(call.requestId !== undefined && { 'x-request-id': call.requestId }),
        ...(request.body !== undefined && { 'content-type': 'application/json' }),
      },
      body: request.body === undefined ? null : JSON.stringify(request.body),
      signal: scope.signal,
    });
    return readReply(response);
  }

  async function sendWithRetries(request: HttpRequest<unknown>, call: Call, scope: Scope): Promise<Reply> {
    let renew = false;
    for (let tries = 1; ; tries++) {
      const last = tries >= maxTries;
      let pauseMs = firstPauseMs * 2 ** (tries - 1) * (0.5 + Math.random());
      try {
        scope.signal.throwIfAborted();
        const reply = await trySend(request, { call, scope, renew });
        if (reply.status === 401 && !renew) {
          renew = true;
          continue;
        }
        if (last || reply.status !== 503 || reply.retryAfterMs === undefined) return reply;
        pauseMs = Math.max(reply.retryAfterMs, pauseMs);
        if (Date.now() + pauseMs >= call.deadlineMs) return reply;
      } catch (error) {
        const problem = scope.signal.aborted ? (scope.signal.reason as Problem) : toProblem(error);
        if (last || problem.code !== 'UNAVAILABLE' || Date.now() + pauseMs >= call.deadlineMs) throw problem;
      }
      await pause(scope.signal, pauseMs);
    }
  }

  return {
    async send<T>(request: HttpRequest<T>, call: Call): Promise<HttpAnswer<T>> {
      const scope = openScope(call);
      try {
        const reply = await sendWithRetries(request, call, scope);
        return readAnswer(reply, request);
      } finally {
        scope.end();
      }
    },
    close: () => pool.destroy(),
  };
}

type Try = { readonly call: Call; readonly scope: Scope; readonly renew: boolean };

async function readReply(response: Dispatcher.ResponseData): Promise<Reply> {
  const body = await readBody(response.body);
  const retryAfter = Number(response.headers['retry-after']);
  return {
    status: response.statusCode,
    retryAfterMs: Number.isFinite(retryAfter) ? retryAfter * 1000 : undefined,
    body,
    json: /^application\/(problem\+)?json\b/i.test(String(response.headers['content-type'])),
  };
}

/** The whole body, so that its connection is free again; one that is too long is cut off together with its connection. */
async function readBody(body: Dispatcher.ResponseData['body']): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function readAnswer<T>(reply: Reply, request: HttpRequest<T>): HttpAnswer<T> {
  if (reply.body === undefined)
    throw new Problem('UNAVAILABLE', `the storage API answered with more than ${maxBodyBytes} bytes`);
  if (reply.status < 200 || reply.status > 299) throw readProblem(reply);
  const accepted = reply.status === 202;
  if (accepted && reply.body === '') return { value: undefined, accepted };
  if (!request.answer) {
    // A page that something in front of the API made up must not pass for a deletion.
    if (reply.status !== 204 && parseJson(reply) === undefined) throw malformed(request, 'not JSON');
    return { value: undefined, accepted };
  }
  const parsed = request.answer.safeParse(parseJson(reply));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw malformed(request, `${issue?.path.join('.') || 'body'}: ${issue?.message ?? 'not JSON'}`);
  }
  return { value: parsed.data, accepted };
}

function malformed(request: HttpRequest<unknown>, found: string): Problem {
  const asked = `${request.method} ${request.path}`;
  return new Problem('UNAVAILABLE', `the storage API gave a malformed answer to ${asked} (${found})`);
}

/** Codes and statuses that speak of our own token: they say nothing of the operation, which an earlier try may have begun. */
const tokenRefused: ReadonlySet<unknown> = new Set([401, 403, 'UNAUTHENTICATED', 'PERMISSION_DENIED']);

function readProblem(reply: Reply): Problem {
  const { success, data } = problemSchema.safeParse(parseJson(reply));
  if (tokenRefused.has(reply.status) || tokenRefused.has(data?.code)) {
    const reason = data?.detail ?? `status ${reply.status}`;
    return new Problem('UNAVAILABLE', `the storage API does not accept this controller's token: ${reason}`);
  }
  if (reply.status === 429) return new Problem('UNAVAILABLE', 'the storage API asks for fewer calls');
  if (!success || !isProblemCode(data.code)) {
    const found = `status ${reply.status}`;
    return new Problem('UNAVAILABLE', `something in front of the storage API answered with ${found}`);
  }
  const { code, detail, requestId } = data;
  return new Problem(code, requestId === undefined ? detail : `${detail} (request ${requestId})`);
}

function parseJson(reply: Reply): unknown {
  try {
    return reply.json && reply.body !== undefined ? JSON.parse(reply.body) : undefined;
  } catch {
    return undefined;
  }
}

function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const code = (error as NodeJS.ErrnoException).code;
  return new Problem('UNAVAILABLE', `the storage API cannot be reached${code ? ` (${code})` : ''}`, error);
}
