import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { withinTime } from '../lib/concurrency.ts';
import { startFlags, startVariables } from '../lib/start.ts';

/** A program's settings by flag name; undefined ones are left out. */
export type ChildSettings = Readonly<Record<string, string | undefined>>;

/** A Fairlead program in its own process. */
export interface Child {
  /** Resolves with the program's addresses once it is ready; rejects when it ends before. */
  readonly ready: Promise<Readonly<Record<string, string>>>;
  /** Resolves with one sentence when the process has ended. */
  readonly ended: Promise<string>;
  /** Ends the program, by force when it takes too long. */
  close(): Promise<void>;
}

const cli = fileURLToPath(new URL('../fairlead.mjs', import.meta.url));
/** Time limit for the end of a program, in milliseconds; shorter than the limit of dev, which ends at the same time. */
const closeTimeoutMs = 12_000;

/**
 * Starts `fairlead <program>` with only these settings, in its own process group. It ends when this process ends. `entry` is
 * the entry file of another version.
 */
export function startChild(program: string, settings: ChildSettings, entry = cli): Child {
  const argv = Object.entries(settings).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}=${value}`],
  );
  const variables = Object.entries(process.env).filter(([name]) => !/^(FAIRLEAD_|CSI_)/.test(name));
  const child = fork(entry, [program, ...argv], {
    env: { ...Object.fromEntries(variables), ...startVariables },
    execArgv: [...process.execArgv, ...(startFlags[program] ?? [])],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    detached: true,
  });
  const ended = once(child, 'exit').then(
    ([status, signal]) => `${program} ended ${signal === null ? `with status ${status}` : `by ${signal}`}`,
  );
  const ready = Promise.race([
    once(child, 'message').then(([message]) => (message as { ready: Record<string, string> }).ready),
    // The program itself has printed why it could not start.
    ended.then(reason => Promise.reject(Object.assign(new Error(reason), { isReported: true }))),
  ]);
  ready.catch(() => {});
  return {
    ready,
    ended,
    async close() {
      child.kill('SIGTERM');
      if (!(await withinTime(ended, closeTimeoutMs))) child.kill('SIGKILL');
      await ended;
    },
  };
}
