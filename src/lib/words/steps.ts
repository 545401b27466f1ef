import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Progress } from './notice.ts';

/** The steps of work that keeps this thread busy, such as a build. */
export interface Steps extends AsyncDisposable {
  /** Ends the step before, and announces the next one. */
  begin(what: string): void;
  /** Sets the counts that the step's later notices show. */
  count(done: number, total: number, unit: string): void;
}

/**
 * Announces each step on standard error once it has run for `silentMs`, and then every 10 s, from a thread of its own. On
 * a terminal there is one line with a bar, which changes all the time.
 */
export function openSteps(total: number, silentMs = 0): Steps {
  const { columns } = process.stderr;
  // Node's own options, such as --eval, are those of the main thread.
  const options = { workerData: { columns, silentMs }, execArgv: [] };
  const thread = new Worker(new URL('./notice-thread.ts', import.meta.url), options);
  // Notices are of use only while the work runs, and their failure is no failure of it.
  thread.unref();
  const ended = once(thread, 'exit').catch(() => {});
  const send = (progress: Progress | null): void => thread.postMessage(progress, []);
  let done = 0;
  let current = '';
  return {
    begin(what) {
      current = what;
      send({ what, done: ++done, total, unit: 'steps' });
    },
    count: (own, ofAll, unit) => send({ what: current, done: own, total: ofAll, unit }),
    async [Symbol.asyncDispose]() {
      send(null);
      thread.ref();
      await ended;
    },
  };
}
