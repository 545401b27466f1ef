import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { inOwnMounts, makeTemporaryDirectory, noRoot, removeTemporaryDirectory } from './harness/machine.ts';

/** Namespaces of mounts, networks and processes for a storage system that a script starts. */
export type Sandbox = {
  /** The script's own directory. */
  readonly dir: string;
  /**
   * The beginning of a command that runs in the namespaces of mounts and network. The command ends with this process.
   */
  readonly inside: readonly string[];
  /**
   * The beginning of a command that joins the network alone and keeps this machine's files, such as a virtual machine.
   */
  readonly network: readonly string[];
  /** Runs a test file in the sandbox, by way of a further command if one is given; fails unless all of its tests pass. */
  runTests(file: string, env?: Readonly<Record<string, string>>, through?: readonly string[]): Promise<void>;
};

const mortal = ['setpriv', '--pdeathsig', 'KILL', '--'];
/** The beginning of a command with its own /proc: in a sandbox /proc shows the processes of the sandbox's script. */
export const withOwnProcesses = [
  'unshare',
  '--mount',
  'sh',
  '-c',
  'mount -t proc proc /proc && exec "$@"',
  'sh',
] as const;

const namespaces = ['--net', '--pid', '--fork', '--kill-child'];

/** Returns the reason why no sandbox can be made here, or false. */
export function whyNoSandbox(): string | false {
  const { status } = spawnSync('unshare', ['--mount', ...namespaces, 'true']);
  return noRoot || (status === 0 ? false : 'needs namespaces of mounts, networks and processes');
}

/**
 * Runs `SCRIPT DIRECTORY PACKAGES` in a sandbox and returns once the script has printed "ready". When the test ends,
 * the sandbox's processes, mounts and directory are removed.
 */
export async function startSandbox(
  t: Pick<TestContext, 'after'>,
  script: string,
  packages: string,
): Promise<Sandbox> {
  const dir = makeTemporaryDirectory();
  const { pid, ready } = startScript(t, [...inOwnMounts(dir, namespaces), 'sh', script, dir, packages]);
  t.after(() => removeTemporaryDirectory(dir));
  await ready;
  const network = ['nsenter', `--net=/proc/${pid}/ns/net`];
  const inside = [...mortal, ...network, `--mount=/proc/${pid}/ns/mnt`, '--'];
  return {
    dir,
    inside,
    network: [...network, '--'],
    runTests: (file, env = {}, through = []) =>
      runTests(t, [...inside, ...through, process.execPath], { file, env }),
  };
}

/** Starts a script, which prints "ready" once its system runs. It ends with the test, and with this process. */
export function startScript(t: Pick<TestContext, 'after'>, command: readonly string[]) {
  // It ends even if this process is killed.
  const [program = '', ...args] = [...mortal, ...command];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const requireReady = async (): Promise<void> => {
    const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);
    if (line !== 'ready') throw new Error(`"${command.join(' ')}" has not started`);
  };
  return { pid: child.pid, ready: requireReady() };
}

async function runTests(
  t: Pick<TestContext, 'after'>,
  [program = '', ...args]: readonly string[],
  { file, env }: { readonly file: string; readonly env: Readonly<Record<string, string>> },
): Promise<void> {
  const { NODE_TEST_CONTEXT: _, ...own } = process.env;
  const child = spawn(program, [...args, '--disable-warning=ExperimentalWarning', file], {
    env: { ...own, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // A test that has taken too long ends before its child.
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    process.stdout.write(text);
    said += text;
  });
  const [status] = await once(child, 'close');
  // The end of the whole run repeats the failed tests, where no other output hides them.
  const [, failed] = said.split('failing tests:');
  assert.equal(status, 0, `${file} ended with ${status}\n${failed?.slice(0, 8_192) ?? said.slice(-8_192)}`);
}
