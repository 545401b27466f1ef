/** The longest that a timer can wait, in milliseconds; a longer one would end at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** Waits; rejects with the signal's reason when that comes first. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = new Promise<void>(resolve => {
    timer = setTimeout(resolve, Math.min(ms, longestTimerMs));
  });
  return signal ? unlessAborted(signal, end).finally(() => clearTimeout(timer)) : end;
}

/** The work's outcome, or the signal's reason when that comes first; the work is then left to itself. */
export function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** The work's outcome, or undefined once the time has passed; the work is then left to itself. */
export async function withinTime<T>(
  work: Promise<T>,
  timeoutMs: number,
): Promise<{ readonly value: T } | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(resolve, Math.min(timeoutMs, longestTimerMs), undefined);
  });
  try {
    return await Promise.race([work.then(value => ({ value })), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** How often to look, and for how long; both in milliseconds. The last look comes after the time has passed. */
type PollOptions = { readonly everyMs: number; readonly timeoutMs: number };

/** What may be seen: false would be seen as well, and end the looking. */
export type Seen = string | number | object | true;

/** Looks until there is something to see; undefined when there was nothing in time, however the machine's clock is set meanwhile. */
export async function poll<T extends Seen>(
  look: () => Promise<T | undefined> | T | undefined,
  { everyMs, timeoutMs }: PollOptions,
): Promise<T | undefined> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const isLast = performance.now() >= deadlineMs;
    const seen = await look();
    if (seen !== undefined || isLast) return seen;
    await pause(everyMs);
  }
}

/** Runs work on one key after another, in the order of the calls; a failure is the caller's own. */
export function createKeyedQueue() {
  const last = new Map<string, Promise<unknown>>();
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const before = last.get(key) ?? Promise.resolve();
    const turn = before.then(work, work);
    last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (last.get(key) === turn) last.delete(key);
    }
  };
}

/** Work that is repeated. `again` runs it soon, too; `close` ends it, and returns once a run that is under way has ended. */
export type Repetition = { again(): void; close(): Promise<void> };

/**
 * Runs work at once and then at least every so often, never twice at a time. It must not throw. Keeps no process alive. The
 * pauses differ, so that processes that began together, or lost the same server, do not ask for it all at once.
 */
export function repeat(work: () => Promise<unknown>, everyMs: number): Repetition {
  let timer: ReturnType<typeof setTimeout>;
  let running: Promise<unknown> | undefined;
  let [isAsked, isClosed] = [false, false];
  const run = (): void => {
    running ??= work().finally(() => {
      running = undefined;
      if (isAsked && !isClosed) again();
    });
  };
  const again = (): void => {
    isAsked = running !== undefined;
    run();
  };
  const goOn = (): void => {
    run();
    timer = setTimeout(goOn, everyMs * (0.5 + Math.random() / 2));
    // In a browser or a worker a timer is a number, and nothing waits for it.
    if (typeof timer === 'object') timer.unref();
  };
  goOn();
  return {
    again,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/**
 * Begins a time of so many milliseconds, and returns what tells whether it is over by either clock: the one on the wall
 * may be set back, and the other one stands still while the machine sleeps. One that is not positive is over at once.
 */
export function startTimeLimit(ms: number): () => boolean {
  const [untilMs, untilElapsedMs] = [Date.now() + ms, performance.now() + ms];
  return () => Date.now() >= untilMs || performance.now() >= untilElapsedMs;
}
