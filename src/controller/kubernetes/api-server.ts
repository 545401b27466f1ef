import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { parseBody, plainBody, readBody, readLines } from '../../api/http/body.ts';
import type { Connection } from './connection.ts';

/** A cluster's API server. Failed requests throw; `statusOf` gives their status. */
export type ApiServer = ReturnType<typeof createApiServer>;

/** A request's parts beside its path. */
type RequestParts = { readonly method?: 'GET' | 'PATCH'; readonly type?: string; readonly body?: unknown };

/** The maximum silence of the server during a request, in ms. A watch gets a line each minute. */
const silenceMs = 100_000;
/** Nodes list their images, so a page of nodes can be long. */
const source = { from: 'the API server', maxBytes: 64 * 1024 * 1024 };

/** Creates requests over `connection`; `signal` aborts requests that are running. */
export function createApiServer({ url, tls, token }: Connection, signal: AbortSignal) {
  const { Agent, request } = process.getBuiltinModule(url.protocol === 'http:' ? 'node:http' : 'node:https');
  const agent = new Agent({ keepAlive: true, ...tls });
  const base = url.pathname.replace(/\/$/, '');

  async function ask(path: string, { method = 'GET', type, body }: RequestParts): Promise<IncomingMessage> {
    const headers = {
      accept: 'application/json',
      ...plainBody,
      ...(type !== undefined && { 'content-type': type }),
      ...(token && { authorization: `Bearer ${await token()}` }),
    };
    const outgoing = request(new URL(base + path, url), {
      method,
      headers,
      agent,
      signal,
      timeout: silenceMs,
    });
    outgoing.on('timeout', () =>
      outgoing.destroy(new Error(`the API server ${url.host} has sent nothing for ${silenceMs / 1_000} s`)),
    );
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    const [reply] = (await once(outgoing, 'response')) as [IncomingMessage];
    const { statusCode: status = 0 } = reply;
    if (status >= 200 && status < 300) return reply;
    const { message } = Object(parseBody(await readText(reply))) as { readonly message?: string };
    const detail = `${method} ${path.replace(/\?.*/s, '')}: ${message ?? `status ${status}`}`;
    throw Object.assign(new Error(detail), { status });
  }

  return {
    async read<T>(path: string): Promise<T> {
      const document = parseBody(await readText(await ask(path, {})));
      if (document === undefined)
        throw new Error(`GET ${path.replace(/\?.*/s, '')}: the API server's answer is not JSON`);
      return document as T;
    },
    /** Yields the answer's lines until the server ends it. */
    async *readLines(path: string): AsyncGenerator<string> {
      yield* readLines(bodyOf(await ask(path, {})), source);
    },
    /** Patches a document; `type` is the media type of the patch. */
    async patch(path: string, type: string, body: unknown): Promise<void> {
      await readText(await ask(path, { method: 'PATCH', type, body }));
    },
    close: () => agent.destroy(),
  };
}

/** The HTTP status of an API server's error; undefined for any other error. */
export function statusOf(error: unknown): number | undefined {
  return (Object(error) as { readonly status?: number }).status;
}

function readText(reply: IncomingMessage): Promise<string> {
  return readBody(bodyOf(reply), source);
}

function bodyOf(reply: IncomingMessage) {
  return { chunks: reply, encoding: reply.headers['content-encoding'] };
}
