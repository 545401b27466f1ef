import { execFile } from 'node:child_process';
import { createReadStream, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { asProblem } from '../../../src/api/problem.ts';
import type { Answer, Order } from './fleet.ts';

/** The works of a servant by name. */
export type Works = Readonly<Record<string, (...args: readonly never[]) => Promise<unknown>>>;

/** The scope of a servant's work: nothing is cleaned up, because its process or machine ends with it. */
export const servantScope = { after: () => undefined };

const runFile = promisify(execFile);

/** Runs a command and returns its output; rejects with its error output if it fails. */
async function run(command: string, args: readonly string[]): Promise<string> {
  const { stdout } = await runFile(command, args, { maxBuffer: 2 ** 24 });
  return stdout;
}

/**
 * Serves orders on a descriptor until it is closed, several at a time. Says "alive" at regular intervals, and "ready"
 * once its own works are there.
 */
export async function serveOrders(port: number, own: object | Promise<object>): Promise<void> {
  const say = (answer: Answer | 'alive' | 'ready'): void => {
    writeSync(port, `${JSON.stringify(answer)}\n`);
  };
  setInterval(say, 5_000, 'alive');
  // An order names its work, so each call has other types.
  const works = { run, ...(await own) } as unknown as Works;
  const serve = async ({ id, name, args }: Order): Promise<void> => {
    try {
      const work = works[name];
      if (!work) throw new Error(`nobody here does "${name}"`);
      say({ id, value: await work(...(args as readonly never[])) });
    } catch (error) {
      const { code, detail } = asProblem(error);
      say({ id, fault: { code, detail: `${detail} ${error instanceof Error ? error.stack : ''}` } });
    }
  };
  say('ready');
  for await (const line of createInterface({ input: createReadStream('', { fd: port }) }))
    void serve(JSON.parse(line) as Order);
}
