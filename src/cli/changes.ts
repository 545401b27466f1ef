import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { changesPath, heartbeatEveryMs } from '../api/admin/changes.ts';
import { plainBody, readLines } from '../api/http/body.ts';
import type { HttpOptions } from '../api/http.ts';
import { pause, unlessAborted, withinTime } from '../lib/concurrency.ts';

/** The gateway, and the credentials for it. */
export type ChangesSource = Pick<HttpOptions, 'url' | 'token' | 'tls'>;

/** A listener to the changes of a gateway. It listens until it is disposed. */
export type Changes = AsyncDisposable & {
  /**
   * Returns at the next change, or at once if there was one since the last call. Without a change it returns after
   * `toldMs` while the gateway tells its changes, and otherwise after `pollMs`.
   */
  wait(times: { readonly pollMs: number; readonly toldMs: number }, signal?: AbortSignal): Promise<void>;
};

/** The silence after which a stream counts as cut, in milliseconds. */
const maxSilenceMs = 3 * heartbeatEveryMs;
/** A stream that has ended is opened again after this time, in milliseconds. */
const reopenMs = 1_000;
/** A gateway that does not tell its changes is asked again after this time, in milliseconds. */
const askAgainMs = 30_000;

/** Listens for changes. After a restart of the gateway, or a cut by a proxy, it listens again. */
export function listen(source: ChangesSource): Changes {
  const end = new AbortController();
  let isTold = false;
  let next = Promise.withResolvers<void>();

  function note(told: boolean): void {
    isTold = told;
    next.resolve();
  }

  /** Listens until the stream ends, and returns the time until the next try. */
  async function hear(): Promise<number> {
    const reply = await open(source, end.signal);
    const { 'content-type': type = '', 'content-encoding': encoding } = reply.headers;
    if (reply.statusCode !== 200 || !type.startsWith('text/event-stream')) {
      reply.destroy();
      return pauseAfter(reply);
    }
    const lines = readLines({ chunks: reply, encoding }, { from: 'the gateway' });
    for await (const line of lines) if (line.startsWith('data:')) note(true);
    return reopenMs;
  }

  async function hearAgain(): Promise<void> {
    while (!end.signal.aborted) {
      const againMs = await hear().catch(() => reopenMs);
      // A read now shows why the stream has ended.
      if (isTold) note(false);
      await pause(againMs, end.signal).catch(() => undefined);
    }
  }

  const hearing = hearAgain();
  return {
    async wait({ pollMs, toldMs }, signal) {
      const change = signal ? unlessAborted(signal, next.promise) : next.promise;
      await withinTime(change, isTold ? toldMs : pollMs);
      next = Promise.withResolvers();
    },
    async [Symbol.asyncDispose]() {
      end.abort();
      await hearing;
    },
  };
}

/** Asks for the stream of events. */
async function open({ url, token, tls }: ChangesSource, signal: AbortSignal): Promise<IncomingMessage> {
  const base = url.replace(/\/+$/, '');
  const { request } = process.getBuiltinModule(base.startsWith('http:') ? 'node:http' : 'node:https');
  const headers = {
    accept: 'text/event-stream',
    authorization: `Bearer ${await token(false)}`,
    ...plainBody,
  };
  const outgoing = request(base + changesPath, {
    headers,
    signal,
    timeout: maxSilenceMs,
    ...(await tls?.()),
  });
  outgoing.on('timeout', () => outgoing.destroy(new Error('the stream of changes is silent')));
  outgoing.end();
  const [reply] = (await once(outgoing, 'response')) as [IncomingMessage];
  return reply;
}

/** Returns the time until the next try after an answer without events, in milliseconds. */
function pauseAfter({ statusCode = 0, headers }: IncomingMessage): number {
  // A gateway, or a proxy in front of it, answers so while the gateway starts or ends.
  if (statusCode >= 500) return Number(headers['retry-after'] ?? NaN) * 1_000 || reopenMs;
  return askAgainMs;
}
