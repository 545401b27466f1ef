import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The flags that `fairlead gateway` sets for itself. */
export const gatewayFlags =
  '--semi-space-growth-factor=1 --heap-growing-percent=30 --no-opt --no-maglev-destroy-on-background --no-parallel-scavenge';

/** A clock tick of /proc in milliseconds, the same on every Linux that Node.js supports. */
const tickMs = 10;

/** Finds the process of one of our programs that `pid` started; throws if there is none. */
export function childOf(pid: number, program: string): number {
  const found = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .find(name => {
      const status = readIfThere(`/proc/${name}/status`);
      const argv = readIfThere(`/proc/${name}/cmdline`).split('\0');
      return new RegExp(`^PPid:\\t${pid}$`, 'm').test(status) && argv.includes(program);
    });
  if (found === undefined) throw new Error(`process ${pid} has no child that runs "${program}"`);
  return Number(found);
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Reads a process's resident memory in megabytes. */
export function readResident(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Rss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1024;
}

/**
 * Reads the user and system time of these processes together, in milliseconds; `withChildren` adds the children that have
 * ended.
 */
export function readCpuMs(pids: readonly number[], withChildren = false): number {
  return pids
    .map(pid => {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ');
      const ticks = fields.slice(11, withChildren ? 15 : 13).map(Number);
      return ticks.reduce((sum, count) => sum + count, 0) * tickMs;
    })
    .reduce((sum, ms) => sum + ms, 0);
}

/** A running program of floors/, and its ready message. */
type FloorProcess = { readonly child: ChildProcess; readonly ready: unknown };

/** Starts a program of floors/; it ends when it is disconnected. */
export async function startFloor(file: string, ...argv: readonly string[]): Promise<FloorProcess> {
  const child = fork(join(import.meta.dirname, 'floors', file), [...argv], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [ready] = await once(child, 'message');
  return { child, ready };
}
