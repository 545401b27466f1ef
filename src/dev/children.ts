import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { withinTime } from '../lib/concurrency.ts';
import { startFlags, startVariables } from '../lib/start.ts';

/** A program's settings, as flags; one that is undefined is not given. */
export type ChildSettings = Readonly<Record<string, string | undefined>>;

/** A program of ours in a process of its own. */
export interface Child {
  /** What it reported when it was ready; rejects when it ends before. */
  readonly ready: Promise<Readonly<Record<string, string>>>;
  /** Resolves with one sentence when the process has ended. */
  readonly ended: Promise<string>;
  /** Ends it in good order, or by force when it takes too long. */
  close(): Promise<void>;
}

const cli = fileURLToPath(new URL('../fairlead.mjs', import.meta.url));
/** How long a program may take to end, in milliseconds: less than dev itself, which ends at the same time. */
const closeTimeoutMs = 12_000;

/** Starts `fairlead <program>` with these settings alone, in a process group of its own; it ends with us. */
export function startChild(program: string, settings: ChildSettings): Child {
  const argv = Object.entries(settings).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}=${value}`],
  );
  const variables = Object.entries(process.env).filter(([name]) => !/^(FAIRLEAD_|CSI_)/.test(name));
  const child = fork(cli, [program, ...argv], {
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
    // The program reported itself why it could not start.
    ended.then(how => Promise.reject(Object.assign(new Error(how), { isReported: true }))),
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
