import { maxOf, maxTimerMs } from './numbers.ts';

/** Waits. Rejects with the signal's reason if the signal aborts first. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = new Promise<void>(resolve => {
    timer = setTimeout(resolve, Math.min(ms, maxTimerMs));
  });
  return signal ? unlessAborted(signal, end).finally(() => clearTimeout(timer)) : end;
}

/**
 * Returns the work's outcome. Rejects with the signal's reason if the signal aborts first; the work continues
 * unobserved.
 */
export function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Returns the work's outcome; undefined after the time limit. The work then continues unobserved. */
export function withinTime<T>(
  work: Promise<T>,
  timeoutMs: number,
): Promise<{ readonly value: T } | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, Math.min(timeoutMs, maxTimerMs), undefined);
    work.then(value => resolve({ value }), reject).finally(() => clearTimeout(timer));
  });
}

/** Runs `work` for each item, for at most `limit` at a time. After a failure it rejects, and the work goes on unobserved. */
export async function forEachAtMost<T>(
  limit: number,
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const left = items.values();
  const workOff = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: limit }, workOff));
}

/** The pause between two calls, and the time limit, in milliseconds. The last call comes after the time limit. */
type PollOptions = { readonly everyMs: number; readonly timeoutMs: number };

/** A result of a poll. It excludes false, which would also end the poll. */
export type PollResult = string | number | object | true;

/**
 * Calls `look` until it returns a result. Returns undefined if there is none within the time limit, which is
 * independent of changes to the machine's clock.
 */
export async function poll<T extends PollResult>(
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

/** Runs the work of each key one after another, in the order of the calls. A failure rejects only its own call. */
export function createKeyedQueue() {
  const last = new Map<string, Promise<unknown>>();
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const before = last.get(key) ?? Promise.resolve();
    const run = before.then(work, work);
    last.set(key, run);
    try {
      return await run;
    } finally {
      if (last.get(key) === run) last.delete(key);
    }
  };
}

/**
 * Repeated work. `again` makes it run soon as well. `close` ends the repetition, and resolves once no run is in
 * progress.
 */
type Repetition = { again(): void; close(): Promise<void> };

/**
 * Runs work at once, and again at least every `everyMs`, never twice at a time. The work must not throw. The timer
 * keeps no process alive. Pauses vary, so that processes that started together, or lost the same server, do not all
 * call it at the same time.
 */
export function repeat(work: () => Promise<unknown>, everyMs: number): Repetition {
  let timer: ReturnType<typeof setTimeout>;
  let running: Promise<unknown> | undefined;
  let [isRequested, isClosed] = [false, false];
  const run = (): void => {
    running ??= work().finally(() => {
      running = undefined;
      if (isRequested && !isClosed) again();
    });
  };
  const again = (): void => {
    isRequested = running !== undefined;
    run();
  };
  const runAndSchedule = (): void => {
    run();
    timer = setTimeout(runAndSchedule, everyMs * (0.5 + Math.random() / 2));
    // In browsers and workers a timer is a number, and never keeps a process alive.
    if (typeof timer === 'object') timer.unref();
  };
  runAndSchedule();
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
 * Starts a time limit, and returns a function that tells whether it has passed by either clock: the wall clock may be
 * set back, and the monotonic clock stops while the machine sleeps. A limit of 0 or less has passed at once.
 */
export function startTimeLimit(ms: number): () => boolean {
  const [untilMs, untilElapsedMs] = [Date.now() + ms, performance.now() + ms];
  return () => Date.now() >= untilMs || performance.now() >= untilElapsedMs;
}

/** The number of calls that pass at once, the time between further calls, and the maximum wait of any call, in ms. */
type PaceLimits = { readonly burst: number; readonly everyMs: number; readonly maxMs: number };

/** Creates a function that waits until its caller may continue at this pace. */
export function createPace({ burst, everyMs, maxMs }: PaceLimits): () => Promise<void> {
  let untilMs = 0;
  return async () => {
    const nowMs = performance.now();
    untilMs = Math.min(Math.max(untilMs, nowMs - burst * everyMs) + everyMs, nowMs + maxMs);
    if (untilMs > nowMs) await pause(untilMs - nowMs);
  };
}

/** A key to lock, exclusively or shared with others. */
export type KeyUse = { readonly key: string; readonly isShared?: boolean };

/**
 * The maximum wait of a caller, and its error without the keys. `holder` has the key if `isHeld`; otherwise it waits
 * before the caller.
 */
export type LockWait<Holder> = {
  /** The caller's party, such as its cluster. Callers without one form one party. */
  readonly party?: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly busy: (key: string, holder: Holder, isHeld: boolean) => Error;
};

type LockEntry<Holder> = {
  readonly uses: readonly KeyUse[];
  readonly holder: Holder;
  readonly party: string | undefined;
  /** The order in a key's line. Each round has at most one entry of a party. */
  readonly round: number;
  readonly begin: () => void;
  isHeld: boolean;
};

/**
 * Creates a lock of keys. A party's callers get keys in the order of their calls, and parties take turns. A caller
 * gets all its keys at once, exclusively or with at most `maxShared` callers that share them. A call is rejected at
 * once if its party already has `maxWaiting` waiting callers for one of the keys.
 */
export function createKeyedLock<Holder>(limits: {
  readonly maxWaiting: number;
  readonly maxShared?: number;
}) {
  const { maxWaiting, maxShared = Infinity } = limits;
  const lines = new Map<string, readonly LockEntry<Holder>[]>();
  const lineOf = (key: string) => lines.get(key) ?? [];

  function findBusyKey(entry: LockEntry<Holder>): string | undefined {
    const isBusy = ({ key, isShared }: KeyUse): boolean => {
      const line = lineOf(key);
      const before = line.slice(0, line.indexOf(entry));
      if (!isShared) return before.length > 0;
      return before.length >= maxShared || before.some(({ uses }) => !hasShared(uses, key));
    };
    return entry.uses.find(isBusy)?.key;
  }

  function tryBegin(entry: LockEntry<Holder>): void {
    if (entry.isHeld || findBusyKey(entry) !== undefined) return;
    entry.isHeld = true;
    entry.begin();
  }

  function leave(entry: LockEntry<Holder>): void {
    for (const { key } of entry.uses) {
      const left = lineOf(key).filter(other => other !== entry);
      if (left.length > 0) lines.set(key, left);
      else lines.delete(key);
    }
    for (const { key } of entry.uses)
      for (const next of lineOf(key)) {
        tryBegin(next);
        // An entry that wants the key exclusively stops all entries behind it.
        if (!hasShared(next.uses, key)) break;
      }
  }

  /**
   * Chooses one round for all keys, so that any two entries have the same order in all lines. The round is behind
   * every entry that holds a key.
   */
  function chooseRound(uses: readonly KeyUse[], party: string | undefined): number {
    const rounds = uses.flatMap(({ key }) => {
      const line = lineOf(key);
      const now = line.findLast(({ isHeld }) => isHeld) ?? line[0];
      const own = line.findLast(entry => entry.party === party);
      return [now?.round ?? 0, own ? own.round + 1 : 0];
    });
    return maxOf(rounds);
  }

  function enter(entry: LockEntry<Holder>): void {
    for (const { key } of entry.uses) {
      const line = lineOf(key);
      const behind = line.findIndex(({ round }) => round > entry.round);
      lines.set(key, line.toSpliced(behind < 0 ? line.length : behind, 0, entry));
    }
  }

  function busyProblem(entry: LockEntry<Holder>, busy: LockWait<Holder>['busy']): Error {
    const key = findBusyKey(entry) ?? '';
    const [first] = lineOf(key).toSorted((one, other) => Number(other.isHeld) - Number(one.isHeld));
    const { holder, isHeld } = first ?? entry;
    return busy(key, holder, isHeld);
  }

  return {
    /** The holders of a key and the callers that wait for it, in order. */
    holders: (key: string): readonly Holder[] => lineOf(key).map(({ holder }) => holder),
    /**
     * Joins the lines before it returns. Rejects with `busy` or the signal's reason. Dispose of the result to release
     * the keys.
     */
    async acquire(
      uses: readonly KeyUse[],
      holder: Holder,
      { party, timeoutMs, signal, busy }: LockWait<Holder>,
    ): Promise<Disposable> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const round = chooseRound(uses, party);
      const entry = { uses, holder, party, round, begin: resolve, isHeld: false };
      const isWaiting = (other: LockEntry<Holder>): boolean => !other.isHeld && other.party === party;
      const isFull = uses.some(({ key }) => lineOf(key).filter(isWaiting).length >= maxWaiting);
      enter(entry);
      tryBegin(entry);
      try {
        if (!entry.isHeld && !isFull)
          await withinTime(signal ? unlessAborted(signal, promise) : promise, timeoutMs);
        if (!entry.isHeld) throw busyProblem(entry, busy);
      } catch (error) {
        leave(entry);
        throw error;
      }
      return { [Symbol.dispose]: () => leave(entry) };
    },
  };
}

function hasShared(uses: readonly KeyUse[], key: string): boolean {
  return uses.some(use => use.key === key && use.isShared === true);
}

/** The part of a caller's time that is reserved for the answer, in milliseconds. */
const answerMs = 1_000;

/**
 * The maximum wait of work for other work, in milliseconds, so that its caller still gets an answer: all but a second
 * of the time left, or half of it if that is more, and at most `maxMs`.
 */
export function patienceUntil(deadlineMs: number, maxMs: number): number {
  const leftMs = deadlineMs - Date.now();
  return Math.min(Math.max(leftMs - answerMs, leftMs / 2), maxMs);
}
