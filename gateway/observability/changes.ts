import { heartbeatEveryMs as usualHeartbeatMs } from '../../src/api/admin/changes.ts';
import { overloadedProblem, unavailableProblem } from '../../src/api/problem.ts';
import { repeat } from '../../src/lib/concurrency.ts';
import type { Pools } from '../pools/pools.ts';
import type { Queues } from '../scheduling/queues.ts';
import type { Engine } from '../store.ts';

/** Tells operators that something has changed, by server-sent events. */
export type Changes = ReturnType<typeof createChanges>;

type Sources = Pick<Engine, 'reader'> & {
  readonly queues: Pick<Queues, 'show'>;
  readonly pools: Pick<Pools, 'all' | 'waiting'>;
};

/** A browser or a command that listens. `isAllowed` returns false once its session or token has ended. */
type Listener = {
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  readonly isAllowed: () => Promise<boolean>;
};

/** A listener that has not read this number of messages has gone. */
const maxUnread = 8;

const encoder = new TextEncoder();
const change = encoder.encode('data: changed\n\n');
/** A browser that loses its connection tries again after 3 seconds, and then reads its page again. */
const opening = encoder.encode('retry: 3000\ndata: changed\n\n');
/** Proxies end a silent connection. */
const heartbeat = encoder.encode(':\n\n');

type Options = {
  /** The maximum number of listeners. Others ask every few seconds. */
  readonly maxListeners?: number;
  readonly lookEveryMs?: number;
  readonly heartbeatEveryMs?: number;
};

/**
 * Creates the changes. While somebody listens, the gateway compares the newest entry of the audit log, the running
 * operations of all replicas, its own queues, and how its pools answer with those `lookEveryMs` ago: once for all
 * listeners.
 */
export function createChanges(
  { reader, queues, pools }: Sources,
  { maxListeners = 64, lookEveryMs = 1_000, heartbeatEveryMs = usualHeartbeatMs }: Options = {},
) {
  const listeners = new Set<Listener>();
  let last = '';
  let repeated: ReturnType<typeof repeat>[] = [];
  let isClosed = false;

  function end(listener: Listener): void {
    listeners.delete(listener);
    listener.controller.close();
    stopIfUnused();
  }

  function send(message: Uint8Array): void {
    for (const listener of listeners) {
      listener.controller.enqueue(message);
      if ((listener.controller.desiredSize ?? 0) < -maxUnread) end(listener);
    }
  }

  async function look(): Promise<void> {
    const state = await readState().catch(() => last);
    if (last !== '' && state !== last) send(change);
    last = state;
  }

  async function readState(): Promise<string> {
    const newest = await reader.all('select id from audit_log order by id desc limit 1');
    const claims = await reader.all('select count(*) as number, max(since_ms) as since from claims');
    const waiting = queues.show().map(queue => [queue.pool, queue.cluster, queue.waiting, queue.running]);
    const answers = pools
      .all()
      .map(pool => [pool.name, pool.answers?.show().answers, pool.backend.isPaused?.()]);
    const unopened = [...pools.waiting()].map(([name, { reason }]) => [name, reason]);
    return JSON.stringify([newest, claims, waiting, answers, unopened]);
  }

  /** Shows proxies that the connection is alive, and ends those whose session or token has ended. */
  async function sendHeartbeats(): Promise<void> {
    send(heartbeat);
    await Promise.all(
      [...listeners].map(async listener => {
        if (!(await listener.isAllowed()) && listeners.has(listener)) end(listener);
      }),
    );
  }

  function start(): void {
    last = '';
    repeated = [repeat(look, lookEveryMs), repeat(sendHeartbeats, heartbeatEveryMs)];
  }

  function stopIfUnused(): void {
    if (listeners.size > 0) return;
    for (const one of repeated.splice(0)) void one.close();
  }

  return {
    /** Opens a stream of events. It ends once `isAllowed` returns false, and with the gateway. */
    open(isAllowed: Listener['isAllowed']): ReadableStream<Uint8Array> {
      if (isClosed) throw unavailableProblem('this gateway ends; try again');
      if (listeners.size >= maxListeners)
        throw overloadedProblem('too many browsers and commands listen to this gateway; try again later', 30);
      let listener: Listener;
      return new ReadableStream({
        start(controller) {
          listener = { controller, isAllowed };
          listeners.add(listener);
          controller.enqueue(opening);
          if (listeners.size === 1) start();
        },
        cancel() {
          listeners.delete(listener);
          stopIfUnused();
        },
      });
    },
    /** Ends all streams, and opens no more. */
    close(): void {
      isClosed = true;
      for (const listener of listeners) end(listener);
    },
  };
}
