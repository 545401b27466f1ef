import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { apartFromOthers, makeTemporaryDirectory, removeTemporaryDirectory } from './harness/machine.ts';

/** Namespaces of mounts, networks and processes in which a storage system runs that a script started. */
export type Apart = {
  /** The script's own directory. */
  readonly dir: string;
  /** The beginning of a command that runs where its network, and no other, is, and its programs are; it ends with this process. */
  readonly inside: readonly string[];
  /** The beginning of one that keeps this machine's own files there, such as a virtual machine. */
  readonly network: readonly string[];
  /** Runs a file of tests there; fails unless all pass. */
  runTests(file: string, env?: Readonly<Record<string, string>>): Promise<void>;
};

const mortal = ['setpriv', '--pdeathsig', 'KILL', '--'];
const namespaces = ['--net', '--pid', '--fork', '--kill-child'];

/** Whether this machine lets the tests make such namespaces. */
export function canBeApart(): boolean {
  return spawnSync('unshare', ['--mount', ...namespaces, 'true']).status === 0;
}

/** Runs `SCRIPT DIRECTORY PACKAGES` until the test ends; resolves once it has said "ready". Nothing is left of it. */
export async function startApart(
  t: Pick<TestContext, 'after'>,
  script: string,
  packages: string,
): Promise<Apart> {
  const dir = makeTemporaryDirectory();
  // It ends with this process, too, however that ends.
  const [program = '', ...args] = [...mortal, ...apartFromOthers(dir, namespaces)];
  const child = spawn(program, [...args, 'sh', script, dir, packages], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    removeTemporaryDirectory(dir);
  });
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);
  if (line !== 'ready') throw new Error(`${script} has not started`);
  const { pid } = child;
  const network = ['nsenter', `--net=/proc/${pid}/ns/net`];
  const inside = [...mortal, ...network, `--mount=/proc/${pid}/ns/mnt`, '--'];
  return {
    dir,
    inside,
    network: [...network, '--'],
    runTests: (file, env = {}) => runTests([...inside, process.execPath], file, env),
  };
}

async function runTests(
  [program = '', ...args]: readonly string[],
  file: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const { NODE_TEST_CONTEXT: _, ...own } = process.env;
  const child = spawn(program, [...args, '--disable-warning=ExperimentalWarning', file], {
    env: { ...own, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    process.stdout.write(text);
    said += text;
  });
  const [status] = await once(child, 'close');
  // What failed is told at the end of the whole run as well, where nothing else hides it.
  const [, failed] = said.split('failing tests:');
  assert.equal(status, 0, `${file} ended with ${status}\n${failed?.slice(0, 8_192) ?? said.slice(-8_192)}`);
}
