import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { withinTime } from '../lib/concurrency.ts';
import { exec } from '../lib/exec.ts';

/** A vendor's server that the kit has started. */
export interface VendorProcess {
  readonly url: URL;
  /** Kills the server without warning, as a power failure does, and starts it again on the same port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

const startTimeoutMs = 60_000;
const endTimeoutMs = 5_000;
/** Time to wait for the output to close after the command's end; processes that it left running may keep it open. */
const outputCloseMs = 1_000;
/** Characters of output that are kept for an error. */
const maxOutput = 8_192;

/**
 * Starts a vendor's server by a shell command, which gets the port in PORT (0 for any) and must print `listening on URL`.
 * Throws with the command's output when it ends or does not print that in time.
 */
export async function startVendor(command: string): Promise<VendorProcess> {
  const first = await start(command, '0');
  const { url } = first;
  let { child } = first;
  return {
    url,
    async restart() {
      await end(child, 'SIGKILL');
      ({ child } = await start(command, url.port));
    },
    close: () => end(child, 'SIGTERM'),
  };
}

/** Makes a function that restarts a vendor by a shell command, and throws when the command fails. */
export function restartBy(command: string): () => Promise<void> {
  return async () => void (await runShell('--restart', command));
}

/** Runs the shell command of a flag and returns its output; throws when the command fails. */
export async function runShell(flag: string, command: string): Promise<string> {
  const { status, stdout, stderr } = await exec('sh', ['-c', command], { timeoutMs: startTimeoutMs });
  if (status === 0) return stdout;
  throw new Error(`the command of ${flag} failed with status ${status}: ${stderr.trim()}`);
}

async function start(command: string, port: string) {
  const env = { ...process.env, PORT: port };
  const child = spawn('sh', ['-c', command], { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const { promise, resolve, reject } = Promise.withResolvers<URL>();
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-maxOutput);
      const address = /listening on (https?:\/\/\S+)/.exec(output)?.[1];
      if (address !== undefined && URL.canParse(address)) resolve(new URL(address));
    });
  child.once('error', reject);
  const closed = new Promise(settle => child.once('close', settle));
  child.once('exit', async status => {
    await withinTime(closed, outputCloseMs);
    reject(
      new Error(
        `the command of --start ended with status ${status} before it printed "listening on URL"${withOutput(output)}`,
      ),
    );
  });
  const listening = await withinTime(promise, startTimeoutMs).catch(async (error: unknown) => {
    await end(child, 'SIGKILL');
    throw error;
  });
  if (listening) return { child, url: listening.value };
  await end(child, 'SIGKILL');
  throw new Error(
    `the command of --start did not print "listening on URL" within ${startTimeoutMs / 1_000} s${withOutput(output)}`,
  );
}

/** Adds the command's output to a message, if there is any. */
function withOutput(output: string): string {
  return output.trim() === '' ? ', and it printed nothing' : `: ${output.trim()}`;
}

/** Ends the command and all processes that it has started. */
async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  const isOver = child.exitCode !== null || child.signalCode !== null;
  const ended: Promise<unknown> = isOver ? Promise.resolve() : once(child, 'exit');
  // Processes that the command started may outlive it.
  killGroup(pid, signal);
  if (!(await withinTime(ended, endTimeoutMs))) killGroup(pid, 'SIGKILL');
  await ended;
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // Every process of the group has ended.
  }
}
