import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { poll } from '../../src/lib/concurrency.ts';
import { readSettings, type SettingsOf, type SettingsTable } from '../../src/lib/settings.ts';

/** The path of the command line's entry file. */
export const cli = fileURLToPath(new URL('../../src/fairlead.mjs', import.meta.url));

/** Settings by flag name; an empty or undefined value leaves a setting out. */
export type Flags = Readonly<Record<string, string | undefined>>;

function argvOf(flags: Flags): readonly string[] {
  return Object.entries(flags).flatMap(([name, value]) => (value ? [`--${name}=${value}`] : []));
}

/** Reads a program's settings from these flags alone; fails if one has a fault. */
export function settingsOf<T extends SettingsTable>(table: T, flags: Flags): SettingsOf<T> {
  const { values, faults } = readSettings(table, { argv: argvOf(flags), env: {} });
  assert.ok(values, String(faults));
  return values;
}

/** A program in a process of its own. */
export interface ProgramProcess {
  readonly pid: number;
  /** The fields of its ready message; rejects with its standard error if the process ends before. */
  readonly ready: Promise<Readonly<Record<string, string>>>;
  /** Its exit status or signal. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Returns its standard output so far. */
  stdout(): string;
  /** Returns its standard error so far. */
  stderr(): string;
  /** Waits for the pattern in its standard error, which may arrive after the ready message. */
  untilLogged(pattern: RegExp): Promise<void>;
  /** Sends a message and returns the next one that arrives; undefined if the process ends before. */
  ask(message: object): Promise<unknown>;
  /** Sends the signal and waits until the process is gone. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

/** The command before Node.js such as `unshare`, the entry file and Node's own options, and further variables. */
export type ProcessOptions = {
  readonly by?: readonly string[];
  readonly node?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
};

/** The user's variables without the settings of our programs. */
const userEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(?:FAIRLEAD|CSI)_/.test(name)),
);

/** Starts a program, such as `node` of the command line, with these settings. */
export function startProgram(
  program: string,
  flags: Flags,
  { by = [], node = [cli, program], env }: ProcessOptions = {},
): ProgramProcess {
  const [command = '', ...args] = [...by, process.execPath, ...node, ...argvOf(flags)];
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...userEnv, ...env },
  });
  // On close its output has arrived completely.
  const ended = once(child, 'close').then(
    ([status, signal]) => (status ?? signal) as number | NodeJS.Signals,
  );
  let [output, errors] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const ready = Promise.race([
    once(child, 'message').then(([message]) => (message as { ready: Record<string, string> }).ready),
    ended.then(() => Promise.reject(new Error(`the ${program} ended: ${errors}`))),
  ]);
  ready.catch(() => {});
  return {
    pid: child.pid ?? 0,
    ready,
    ended,
    stdout: () => output,
    stderr: () => errors,
    async untilLogged(pattern) {
      await poll(() => pattern.test(errors) || undefined, { everyMs: 20, timeoutMs: 120_000 });
      assert.match(errors, pattern);
    },
    ask(message) {
      const answer = once(child, 'message').then(([given]: unknown[]) => given);
      if (child.connected) child.send(message, () => undefined);
      return Promise.race([answer, ended.then(() => undefined)]);
    },
    async end(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await ended;
    },
  };
}
