import { useEffect, useState } from 'preact/hooks';
import { asProblem, type Problem } from '../../../src/api/problem.ts';

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
const usuallyMs = 3_000;

/** Loads a value now, whenever `key` changes, and every few seconds while the page is visible. */
export function useLive<T>(key: string, load: () => Promise<T>, everyMs = usuallyMs): Live<T> {
  const [live, setLive] = useState<Live<T>>({});
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const reload = async (): Promise<void> => {
      clearTimeout(timer);
      // An operator reads the consequences of an action in a dialog: its page stays as it is.
      if (!document.hidden && !document.querySelector('dialog[open]')) {
        const next = await load().then(
          value => (): Live<T> => ({ value, at: new Date() }),
          (error: unknown) => {
            const problem = asProblem(error);
            // The client reports a refused session as UNAVAILABLE, with the status as its cause.
            if (Object(problem.cause).status === 401) sessionEnd.dispatchEvent(new Event('end'));
            return (last: Live<T>): Live<T> => ({ ...last, problem });
          },
        );
        if (isOver) return;
        setLive(next);
      }
      timer = setTimeout(() => void reload(), everyMs);
    };
    const onVisible = (): void => void (document.hidden || reload());
    setLive({});
    void reload();
    document.addEventListener('visibilitychange', onVisible);
    refreshed.addEventListener('refresh', onVisible);
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
      refreshed.removeEventListener('refresh', onVisible);
    };
  }, [key]);
  return live;
}
