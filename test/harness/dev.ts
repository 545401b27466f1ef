import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { connectCsi } from '../../src/csi/client.ts';
import { cli, waitForLog } from './program.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from './machine.ts';

/** `fairlead dev` as a process, as a user starts it. */
export interface Dev {
  readonly pid: number;
  readonly gateway: string;
  readonly controller: string;
  readonly node: string;
  readonly nodeId: string;
  /** The lines of its standard output so far. */
  readonly stdout: readonly string[];
  /** Returns its standard error so far. */
  stderr(): string;
  /** Waits for the pattern in its standard error. */
  untilLogged(pattern: RegExp): Promise<void>;
  /** Sends the signal and returns the exit status or signal. */
  end(signal?: NodeJS.Signals): Promise<{ readonly status: number | null; readonly signal: string | null }>;
}

/**
 * Starts `fairlead dev` and waits for its ready line. `settings` are flags without their dashes; `entry` is the entry
 * file of a package that is installed elsewhere.
 */
export async function startDev(
  settings: Readonly<Record<string, string>>,
  entry = cli,
  env = process.env,
): Promise<Dev> {
  const argv = Object.entries({ capacity: '1Ti', 'log-level': 'warn', context: 'none', ...settings }).flatMap(
    ([name, value]) => [`--${name}`, value],
  );
  const child = spawn(process.execPath, [entry, 'dev', ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  });
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const stdout: string[] = [];
  const firstLine = await readFirstLine(child, stdout);
  if (firstLine === undefined) throw new Error(`fairlead dev did not start: ${errors}`);
  const ready = JSON.parse(firstLine) as Pick<Dev, 'gateway' | 'controller' | 'node' | 'nodeId'>;
  return {
    ...ready,
    pid: child.pid ?? 0,
    stdout,
    stderr: () => errors,
    untilLogged: pattern => waitForLog(() => errors, pattern),
    async end(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      const [status, by] = await ended;
      return { status, signal: by };
    },
  };
}

/** Makes a directory that is removed when its test ends, with everything that is mounted in it. */
export function directoryOf(t: TestContext): string {
  const dir = makeTemporaryDirectory();
  t.after(() => removeTemporaryDirectory(dir));
  return dir;
}

/**
 * Starts `fairlead dev` in a directory of its own, with a client for each socket. The process, the clients and the
 * directory end with the test.
 */
export async function openDev(t: TestContext, settings: Readonly<Record<string, string>> = {}) {
  const dir = makeTemporaryDirectory();
  const dev = await startDev({ dir: join(dir, 'dev'), ...settings });
  const [controller, node] = [connectCsi(dev.controller), connectCsi(dev.node)];
  t.after(async () => {
    controller.close();
    node.close();
    await dev.end();
    removeTemporaryDirectory(dir);
  });
  return { dir, dev, controller, node };
}

function readFirstLine(child: ChildProcess, lines: string[]): Promise<string | undefined> {
  return new Promise(resolve => {
    child.once('close', () => resolve(undefined));
    if (!child.stdout) return;
    createInterface({ input: child.stdout }).on('line', line => {
      lines.push(line);
      resolve(line);
    });
  });
}
