import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A program of ours in a process of its own. */
export interface Child {
  readonly program: string;
  /** What it said when it was ready; rejects when it ends before. */
  readonly ready: Promise<Readonly<Record<string, string>>>;
  /** Resolves with one sentence when the process has ended. */
  readonly ended: Promise<string>;
  /** Ends it in good order, or by force when it takes too long. */
  close(): Promise<void>;
}

const cli = fileURLToPath(new URL('../fairlead.mjs', import.meta.url));
const closeTimeoutMs = 4_500;

/**
 * Starts `fairlead <program>` with these settings alone, in a process group of its own, so that an interrupt from the
 * terminal is this process's to handle. It ends when this process does, however this one ends.
 */
export function startChild(program: string, settings: Readonly<Record<string, string | undefined>>): Child {
  const argv = Object.entries(settings).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  const child = fork(cli, [program, ...argv], {
    env: ownEnvironment(),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    detached: true,
  });
  const ended = new Promise<string>(resolve => {
    child.once('exit', (status, signal) =>
      resolve(`${program} ended ${signal === null ? `with status ${status}` : `by ${signal}`}`),
    );
  });
  const ready = new Promise<Readonly<Record<string, string>>>((resolve, reject) => {
    child.once('message', message => resolve((message as { ready: Record<string, string> }).ready));
    // The program said itself why it could not start.
    void ended.then(how => reject(Object.assign(new Error(how), { isReported: true })));
  });
  ready.catch(() => {});
  return { program, ready, ended, close: () => close(child, ended) };
}

async function close(child: ChildProcess, ended: Promise<string>): Promise<void> {
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), closeTimeoutMs);
  await ended;
  clearTimeout(force);
}

/** The settings of this program are not meant for the ones it starts. */
function ownEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(FAIRLEAD_|CSI_)/.test(name)));
}
