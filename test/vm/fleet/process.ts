import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { serveBy, type Servant } from './fleet.ts';

/**
 * Starts a file of ours that serves orders at its descriptor 3, behind the beginning of a command that runs it where it is to be;
 * resolves once it does what it is asked to. It ends with this process, too, however that ends.
 */
export function startServant(
  prefix: readonly string[],
  args: readonly string[],
  env: Readonly<NodeJS.ProcessEnv> = {},
): Promise<Servant> {
  const command = [...prefix, process.execPath, '--disable-warning=ExperimentalWarning', ...args];
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...command], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  });
  const ended = once(child, 'close');
  const port = child.stdio[3] as Duplex;
  // Its end is told by the lines that end.
  port.on('error', () => {});
  return serveBy({
    lines: createInterface({ input: port }),
    say: line => void port.write(`${line}\n`),
    console: () => '',
    async end() {
      child.kill('SIGKILL');
      await ended;
    },
  });
}
