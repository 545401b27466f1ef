import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { parseJson } from '../../lib/json.ts';
import type { Connection } from './connection.ts';

/** The API server of a cluster. What it does not do throws; `statusOf` tells how it answered. */
export type ApiServer = ReturnType<typeof createApiServer>;

/** What one request says beside its path. */
type Asked = { readonly method?: 'GET' | 'PATCH'; readonly type?: string; readonly body?: unknown };

/** How long the server may say nothing before a request has failed, in milliseconds; a watch is told something each minute. */
const silenceMs = 100_000;

/** Makes requests with what `connection` says; `signal` ends those that run. */
export function createApiServer({ url, tls, token }: Connection, signal: AbortSignal) {
  const { Agent, request } = process.getBuiltinModule(url.protocol === 'http:' ? 'node:http' : 'node:https');
  const agent = new Agent({ keepAlive: true, ...tls });
  const base = url.pathname.replace(/\/$/, '');

  async function ask(path: string, { method = 'GET', type, body }: Asked): Promise<IncomingMessage> {
    const headers = {
      accept: 'application/json',
      ...(type !== undefined && { 'content-type': type }),
      ...(token && { authorization: `Bearer ${await token()}` }),
    };
    const asked = request(new URL(base + path, url), { method, headers, agent, signal, timeout: silenceMs });
    asked.on('timeout', () => asked.destroy(new Error('the API server says nothing')));
    asked.end(body === undefined ? undefined : JSON.stringify(body));
    const [reply] = (await once(asked, 'response')) as [IncomingMessage];
    const { statusCode: status = 0 } = reply;
    if (status >= 200 && status < 300) return reply;
    const { message } = Object(parseJson(await readText(reply))) as { readonly message?: string };
    const detail = `${method} ${path.replace(/\?.*/s, '')}: ${message ?? `status ${status}`}`;
    throw Object.assign(new Error(detail), { status });
  }

  return {
    /** One document. */
    async read<T>(path: string): Promise<T> {
      return JSON.parse(await readText(await ask(path, {}))) as T;
    },
    /** What the server tells line by line, until it ends that. */
    async *readLines(path: string): AsyncGenerator<string> {
      const reply = await ask(path, {});
      // An interface alone would take a connection that breaks for the end.
      let fault: Error | undefined;
      reply.once('error', (error: Error) => (fault = error));
      yield* createInterface({ input: reply, crlfDelay: Infinity });
      if (fault) throw fault;
    },
    /** Changes a document; `type` is that of the patch. */
    async patch(path: string, type: string, body: unknown): Promise<void> {
      await readText(await ask(path, { method: 'PATCH', type, body }));
    },
    close: () => agent.destroy(),
  };
}

/** The status that an API server answered with, or undefined for any other error. */
export function statusOf(error: unknown): number | undefined {
  return (Object(error) as { readonly status?: number }).status;
}

async function readText(reply: IncomingMessage): Promise<string> {
  return (await reply.setEncoding('utf8').toArray()).join('');
}
