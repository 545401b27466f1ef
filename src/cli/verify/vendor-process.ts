import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { withinTime } from '../../lib/concurrency.ts';
import { exec } from '../../lib/exec.ts';

/** A vendor that the kit starts itself. */
export interface VendorProcess {
  readonly url: URL;
  /** Kills it as a power failure does, and starts it on the same port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

const startTimeoutMs = 60_000;
const endTimeoutMs = 5_000;
/** What it has printed comes so soon after its end, or not at all: what it left running may hold its output open. */
const lastWordsMs = 1_000;
const outputCap = 8_192;

/**
 * Starts a vendor by a command for a shell. PORT in its environment says where it listens, 0 being any port, and it
 * prints `listening on URL`. An error has what it printed.
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

/** What restarts a vendor by a command for a shell; an error when that fails. */
export function restartBy(command: string): () => Promise<void> {
  return async () => {
    const { status, stderr } = await exec('sh', ['-c', command], { timeoutMs: startTimeoutMs });
    if (status !== 0) throw new Error(`--restart fails (status ${status}): ${stderr.trim()}`);
  };
}

async function start(command: string, port: string) {
  const env = { ...process.env, PORT: port };
  const child = spawn('sh', ['-c', command], { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const { promise, resolve, reject } = Promise.withResolvers<URL>();
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-outputCap);
      const address = /listening on (https?:\/\/\S+)/.exec(output)?.[1];
      if (address !== undefined && URL.canParse(address)) resolve(new URL(address));
    });
  child.once('error', reject);
  const closed = new Promise(settle => child.once('close', settle));
  child.once('exit', async status => {
    await withinTime(closed, lastWordsMs);
    reject(new Error(`--start ended (status ${status}): ${output.trim()}`));
  });
  const listening = await withinTime(promise, startTimeoutMs).catch(async (error: unknown) => {
    await end(child, 'SIGKILL');
    throw error;
  });
  if (listening) return { child, url: listening.value };
  await end(child, 'SIGKILL');
  throw new Error(`--start does not print "listening on URL": ${output.trim()}`);
}

/** Ends the command with all that it has started. */
async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  const isOver = child.exitCode !== null || child.signalCode !== null;
  const ended: Promise<unknown> = isOver ? Promise.resolve() : once(child, 'exit');
  // What it started may run on after it.
  killGroup(pid, signal);
  if (!(await withinTime(ended, endTimeoutMs))) killGroup(pid, 'SIGKILL');
  await ended;
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // All of it has ended.
  }
}
