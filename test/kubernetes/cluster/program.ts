import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';

/** A program that runs on, in a namespace. */
export interface Program {
  /** Resolves once it has ended. */
  readonly ended: Promise<unknown>;
  hasEnded(): boolean;
  /** What it wrote so far. */
  output(): string;
  /** Ends it with a signal and waits until it is gone. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a program by a command that forks it, as `nsenter` does; its output is added to a file. */
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

/** The processes that one has forked. */
export function childrenOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.split(' ').filter(Boolean).map(Number);
}

/** Signals a process, which may have ended meanwhile. */
export function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended meanwhile.
  }
}
