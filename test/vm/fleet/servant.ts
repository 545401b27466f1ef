import { execFile } from 'node:child_process';
import { createReadStream, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { asProblem } from '../../../src/api/problem.ts';
import type { Answer, Order } from './fleet.ts';
import { findPort } from './port.ts';

/** Runs in a virtual machine: does what the host says, one thing after another or several at a time, and answers. */
const [role = ''] = process.argv.slice(2);
const port = openSync(findPort('outcomes'), 'r+');
const run = promisify(execFile);

const common = {
  /** The output of a command; it fails with what that wrote to standard error. */
  run: async (command: string, args: readonly string[]): Promise<string> => {
    const { stdout } = await run(command, args, { maxBuffer: 2 ** 24 });
    return stdout;
  },
};
const say = (answer: Answer | 'alive' | 'ready'): void => {
  writeSync(port, `${JSON.stringify(answer)}\n`);
};
setInterval(say, 5_000, 'alive');
type Work = (...args: readonly never[]) => Promise<unknown>;
const works: Readonly<Record<string, Work>> = {
  ...common,
  ...(await open()),
};

say('ready');
for await (const line of createInterface({ input: createReadStream('', { fd: port }) })) {
  const { id, name, args } = JSON.parse(line) as Order;
  void serve(id, name, args);
}

/** Loads what the role needs alone: on emulated processors that takes half a minute. */
async function open(): Promise<object> {
  if (role === 'box') return (await import('./box.ts')).openBox();
  return (await import('./peer.ts')).openPeer(Number(role));
}

async function serve(id: number, name: string, args: readonly unknown[]): Promise<void> {
  try {
    const work = works[name];
    if (!work) throw new Error(`nobody here does "${name}"`);
    say({ id, value: await work(...(args as readonly never[])) });
  } catch (error) {
    const { code, detail } = asProblem(error);
    say({ id, fault: { code, detail: `${detail} ${error instanceof Error ? error.stack : ''}` } });
  }
}
