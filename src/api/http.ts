import { Pool, type Dispatcher } from 'undici';
import type { z } from 'zod';
import { isProblemCode, Problem } from './problem.ts';
import { problemSchema } from './resources.ts';
import { maxBodyBytes } from './routes.ts';

/** How long one call may take and how it is known in logs. */
export type Call = {
  readonly deadlineMs: number;
  readonly requestId?: string;
  readonly signal?: AbortSignal;
};

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
  close(): Promise<void>;
}

type Reply = {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly body: string;
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
    connect: { timeout: connectTimeoutMs },
    keepAliveTimeout: 4_000,
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  async function trySend(request: HttpRequest<unknown>, call: Call, renew: boolean): Promise<Reply> {
    const left = call.deadlineMs - Date.now();
    if (left <= 0) throw new Problem('DEADLINE_EXCEEDED', 'no time was left to call the storage API');
    const timeout = AbortSignal.timeout(left);
    const response = await pool.request({
      method: request.method,
      path: base + request.path,
      headers: {
        authorization: `Bearer ${await options.token(renew)}`,
        prefer: `wait=${Math.max(0, Math.floor(left / 1000 - 1))}`,
        ...(call.requestId !== undefined && { 'x-request-id': call.requestId }),
        ...(request.body !== undefined && { 'content-type': 'application/json' }),
      },
      body: request.body === undefined ? null : JSON.stringify(request.body),
      signal: call.signal ? AbortSignal.any([call.signal, timeout]) : timeout,
    });
    return readReply(response);
  }

  async function sendWithRetries(request: HttpRequest<unknown>, call: Call): Promise<Reply> {
    let renewed = false;
    for (let tries = 1; ; tries++) {
      const last = tries >= maxTries;
      let pauseMs = firstPauseMs * 2 ** (tries - 1) * (0.5 + Math.random());
      try {
        const reply = await trySend(request, call, renewed);
        if (reply.status === 401 && !renewed) {
          renewed = true;
          continue;
        }
        if (last || reply.status !== 503 || reply.retryAfterMs === undefined) return reply;
        pauseMs = reply.retryAfterMs;
        if (Date.now() + pauseMs >= call.deadlineMs) return reply;
      } catch (error) {
        const problem = toProblem(error, call);
        if (last || problem.code !== 'UNAVAILABLE' || Date.now() + pauseMs >= call.deadlineMs) throw problem;
      }
      await new Promise(resolve => setTimeout(resolve, pauseMs));
    }
  }

  return {
    async send<T>(request: HttpRequest<T>, call: Call): Promise<HttpAnswer<T>> {
      const reply = await sendWithRetries(request, call);
      if (reply.status >= 200 && reply.status < 300) return readAnswer(reply, request);
      throw readProblem(reply);
    },
    close: () => pool.close(),
  };
}

async function readReply(response: Dispatcher.ResponseData): Promise<Reply> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes) {
      response.body.destroy();
      throw new Problem('UNAVAILABLE', `the storage API answered with more than ${maxBodyBytes} bytes`);
    }
    chunks.push(chunk);
  }
  const retryAfter = Number(response.headers['retry-after']);
  return {
    status: response.statusCode,
    retryAfterMs: Number.isFinite(retryAfter) ? retryAfter * 1000 : undefined,
    body: Buffer.concat(chunks).toString('utf8'),
    json: /^application\/(problem\+)?json\b/.test(String(response.headers['content-type'])),
  };
}

function readAnswer<T>(reply: Reply, request: HttpRequest<T>): HttpAnswer<T> {
  const accepted = reply.status === 202;
  if (!request.answer || (accepted && reply.body === '')) return { value: undefined, accepted };
  const parsed = request.answer.safeParse(parseJson(reply));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const found = `${issue?.path.join('.') || 'body'}: ${issue?.message ?? 'not JSON'}`;
    throw new Problem(
      'UNAVAILABLE',
      `the storage API gave a malformed answer to ${request.method} ${request.path} (${found})`,
    );
  }
  return { value: parsed.data, accepted };
}

function readProblem(reply: Reply): Problem {
  const document = problemSchema.safeParse(parseJson(reply));
  if (reply.status === 401 || reply.status === 403) {
    const reason = document.success ? document.data.detail : `status ${reply.status}`;
    return new Problem('UNAVAILABLE', `the storage API does not accept this controller's token: ${reason}`);
  }
  if (reply.status === 429) return new Problem('UNAVAILABLE', 'the storage API asks for fewer calls');
  if (!document.success || !isProblemCode(document.data.code)) {
    return new Problem(
      'UNAVAILABLE',
      `something in front of the storage API answered with status ${reply.status}`,
    );
  }
  const { code, detail, requestId } = document.data;
  return new Problem(code, requestId === undefined ? detail : `${detail} (request ${requestId})`);
}

function parseJson(reply: Reply): unknown {
  try {
    return reply.json ? JSON.parse(reply.body) : undefined;
  } catch {
    return undefined;
  }
}

function toProblem(error: unknown, call: Call): Problem {
  if (error instanceof Problem) return error;
  if (call.signal?.aborted) return new Problem('CANCELLED', 'the caller went away', error);
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new Problem('DEADLINE_EXCEEDED', 'the storage API did not answer in time', error);
  }
  const code = (error as NodeJS.ErrnoException).code;
  return new Problem('UNAVAILABLE', `the storage API cannot be reached${code ? ` (${code})` : ''}`, error);
}
