import { createKeyedQueue, unlessAborted } from '../../lib/concurrency.ts';
import { createAnswer, type Asked, type Exchange, type ExchangeOptions, type Reply } from './exchange.ts';

/** Makes what sends single requests by the global fetch, on runtimes where undici does not run; they keep the connections. */
export function createExchange({
  url,
  connections = 64,
  requestTimeoutMs = 0,
  tls,
}: ExchangeOptions): Exchange {
  if (tls) throw new Error('certificates of a storage or for it cannot be used on this runtime');
  const { origin, pathname } = new URL(url);
  const base = origin + pathname.replace(/\/+$/, '');
  const running = new Set<AbortController>();
  const inLane = createKeyedQueue();
  let [count, isClosed] = [0, false];

  async function exchange({ path, ...asked }: Asked, signal: AbortSignal): Promise<Reply> {
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
      const response = await fetch(base + path, { ...asked, redirect: 'manual', signal: end.signal });
      const answer = createAnswer();
      for await (const chunk of response.body ?? []) {
        restartTimer();
        answer.add(chunk);
      }
      const { headers, status } = response;
      return answer.reply(status, {
        contentType: headers.get('content-type'),
        retryAfter: headers.get('retry-after'),
      });
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
    send: (asked, signal) =>
      unlessAborted(
        signal,
        inLane(String(count++ % connections), () => exchange(asked, signal)),
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
