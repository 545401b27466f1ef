import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';

/** A lasting program in a namespace. */
export interface Program {
  /** Resolves once the program has ended. */
  readonly ended: Promise<unknown>;
  hasEnded(): boolean;
  /** Returns the output so far. */
  output(): string;
  /** Sends the signal and waits until the program is gone. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a program through a command that forks it, as `nsenter` does; its output is appended to a file. */
export function startProgram(log: string, argv: readonly string[]): Program {
  const [command = '', ...args] = argv;
  const file = openSync(log, 'a');
  const child = spawn(command, args, { stdio: ['ignore', file, file], cwd: '/' });
  closeSync(file);
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const ended = once(child, 'exit');
  return {
    ended,
    hasEnded,
    output: () => readFileSync(log, 'utf8'),
    async end(signal = 'SIGTERM') {
      for (const pid of hasEnded() ? [] : childrenOf(child.pid ?? 0)) signalTo(pid, signal);
      await ended;
    },
  };
}

/** Lists the child processes of a process. */
export function childrenOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.split(' ').filter(Boolean).map(Number);
}

/** Sends a signal to a process that may have ended meanwhile. */
export function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}
