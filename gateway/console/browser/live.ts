import { useEffect, useState } from 'preact/hooks';
import { asProblem, type Problem } from '../../../src/api/problem.ts';
import { areTold, listen } from './changes.ts';

/** A value that is loaded again and again. After a failure the last value stays, beside the problem. */
export type Live<T> = {
  readonly value?: T;
  /** The time when the value was loaded. */
  readonly at?: Date;
  readonly problem?: Problem;
};

/** Dispatches `end` when the gateway refuses the session. */
export const sessionEnd = new EventTarget();

const refreshed = new EventTarget();

/** Loads all values of the page again, because an operator has changed something. */
export function refresh(): void {
  refreshed.dispatchEvent(new Event('refresh'));
}

/** The usual interval between two loads, in milliseconds. */
const usuallyMs = 2_000;
/** The interval of pages whose changes the gateway tells completely, in milliseconds. */
const toldMs = 20_000;
/**
 * The lists of records in the store and of the queues, and the pages of records. Other pages show more, such as whether
 * storages answer and tokens are refused, so they ask at the usual interval, too.
 */
const told = /^(volumes|snapshots|attachments|operations|queues|audit-log)\?|^(volumes|snapshots|nodes)\//;

/** Loads a value now, whenever `key` or something at the gateway changes, and every few seconds while the page is visible. */
export function useLive<T>(key: string, load: () => Promise<T>, everyMs = usuallyMs): Live<T> {
  const [live, setLive] = useState<Live<T>>({});
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let [isOver, isLoading, isStale] = [false, false, false];
    const isTold = told.test(key);
    const reload = async (): Promise<void> => {
      isStale = isLoading;
      if (isLoading) return;
      clearTimeout(timer);
      // An operator reads the consequences of an action in a dialog: its page stays as it is.
      if (!document.hidden && !document.querySelector('dialog[open]')) {
        isLoading = true;
        const next = await load().then(
          value => (): Live<T> => ({ value, at: new Date() }),
          (error: unknown) => {
            const problem = asProblem(error);
            // The client reports a refused session as UNAVAILABLE, with the status as its cause.
            if (Object(problem.cause).status === 401) sessionEnd.dispatchEvent(new Event('end'));
            return (last: Live<T>): Live<T> => ({ ...last, problem });
          },
        );
        isLoading = false;
        if (isOver) return;
        setLive(next);
        // Something has changed during this load.
        if (isStale) return void reload();
      }
      timer = setTimeout(() => void reload(), isTold && areTold() ? toldMs : everyMs);
    };
    const onVisible = (): void => void (document.hidden || reload());
    setLive({});
    void reload();
    document.addEventListener('visibilitychange', onVisible);
    refreshed.addEventListener('refresh', onVisible);
    const unlisten = listen(onVisible);
    return () => {
      isOver = true;
      unlisten();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
      refreshed.removeEventListener('refresh', onVisible);
    };
  }, [key]);
  return live;
}
