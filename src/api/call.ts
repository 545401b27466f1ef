import { Problem } from './problem.ts';

/** How long one call may take and how it is known in logs. */
export type Call = {
  readonly deadlineMs: number;
  readonly requestId?: string;
  readonly signal?: AbortSignal;
};

/** A call's end as one signal, whose reason is a `Problem`: its deadline has come, or its caller went away. */
export interface Scope {
  readonly signal: AbortSignal;
  /** Frees the timer and the caller's signal. */
  end(): void;
}

/** The longest that a timer can wait; a longer one would end at once. */
const longestMs = 2 ** 31 - 1;

/** Begins to watch a call's deadline and its caller. */
export function openScope(call: Call): Scope {
  const controller = new AbortController();
  const cancel = (): void => controller.abort(new Problem('CANCELLED', 'the caller went away'));
  const expire = (): void =>
    controller.abort(new Problem('DEADLINE_EXCEEDED', 'the storage API did not answer in time'));
  const leftMs = call.deadlineMs - Date.now();
  const timer = leftMs > 0 ? setTimeout(expire, Math.min(leftMs, longestMs)) : undefined;
  if (call.signal?.aborted) cancel();
  else if (!timer) expire();
  call.signal?.addEventListener('abort', cancel, { once: true });
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer);
      call.signal?.removeEventListener('abort', cancel);
    },
  };
}

/** The work's outcome, or the signal's reason when that comes first; the work is then left to itself. */
export function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Waits; rejects with the signal's reason when that comes first. */
export function pause(signal: AbortSignal, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, ms);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}
