import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { serveBy, type Servant } from './fleet.ts';

/**
 * Starts a file that serves orders on its descriptor 3; `prefix` is the beginning of a command that runs it in its
 * place. Resolves once it is ready. It ends with this process, even if this process is killed.
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
  // The end of its lines tells that it has ended.
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
