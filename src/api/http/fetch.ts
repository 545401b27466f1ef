import { createKeyedQueue, unlessAborted } from '../../lib/concurrency.ts';
import { plainBody } from './body.ts';
import {
  createAnswer,
  type Exchange,
  type ExchangeOptions,
  type ExchangeRequest,
  type Reply,
} from './exchange.ts';

/** Creates an exchange on the global fetch, for runtimes where undici does not run. The runtime manages the connections. */
export function createExchange({
  url,
  connections = 64,
  requestTimeoutMs = 0,
  tls,
}: ExchangeOptions): Exchange {
  if (tls)
    throw new Error(
      'this runtime does not support custom TLS certificates for a storage; remove the setting',
    );
  const { origin, pathname } = new URL(url);
  const base = origin + pathname.replace(/\/+$/, '');
  const running = new Set<AbortController>();
  const inLane = createKeyedQueue();
  let [count, isClosed] = [0, false];

  async function exchange({ path, ...rest }: ExchangeRequest, signal: AbortSignal): Promise<Reply> {
    signal.throwIfAborted();
    if (isClosed) throw new Error('the client was closed');
    const end = new AbortController();
    const abort = (): void => end.abort(signal.reason);
    signal.addEventListener('abort', abort);
    running.add(end);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const restartTimer = (): void => {
      clearTimeout(timer);
      if (requestTimeoutMs > 0) timer = setTimeout(() => end.abort(lateError()), requestTimeoutMs);
    };
    try {
      restartTimer();
      const headers = { ...plainBody, ...rest.headers };
      const request = { ...rest, headers, redirect: 'manual', signal: end.signal } as const;
      const response = await fetch(base + path, request);
      const answer = createAnswer();
      answer.begin({
        status: response.status,
        contentType: response.headers.get('content-type'),
        contentEncoding: response.headers.get('content-encoding'),
        retryAfter: response.headers.get('retry-after'),
      });
      for await (const chunk of response.body ?? []) {
        restartTimer();
        answer.add(chunk);
      }
      const reply = answer.reply();
      if (!reply) throw new Error('the answer has no head');
      return reply;
    } catch (error) {
      end.abort();
      throw (error as Error).cause ?? error;
    } finally {
      clearTimeout(timer);
      running.delete(end);
      signal.removeEventListener('abort', abort);
    }
  }

  return {
    send: (request, signal) =>
      unlessAborted(
        signal,
        inLane(String(count++ % connections), () => exchange(request, signal)),
      ),
    async close() {
      isClosed = true;
      for (const end of running) end.abort();
    },
  };
}

function lateError(): Error {
  return Object.assign(new Error('no answer came in time'), { code: 'ETIMEDOUT' });
}
