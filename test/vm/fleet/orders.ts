import { execFile } from 'node:child_process';
import { createReadStream, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { asProblem } from '../../../src/api/problem.ts';
import type { Answer, Order } from './fleet.ts';

/** What a servant does, by name. */
export type Works = Readonly<Record<string, (...args: readonly never[]) => Promise<unknown>>>;

const runFile = promisify(execFile);

/** The output of a command; it fails with what that wrote to standard error. */
async function run(command: string, args: readonly string[]): Promise<string> {
  const { stdout } = await runFile(command, args, { maxBuffer: 2 ** 24 });
  return stdout;
}

/**
 * Says that it lives, that it is ready once its own works are there, and does what it is asked to at a descriptor, several things at
 * a time, until that is closed.
 */
export async function serveOrders(port: number, own: object | Promise<object>): Promise<void> {
  const say = (answer: Answer | 'alive' | 'ready'): void => {
    writeSync(port, `${JSON.stringify(answer)}\n`);
  };
  setInterval(say, 5_000, 'alive');
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
