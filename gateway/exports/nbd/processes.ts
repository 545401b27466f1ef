import { readdirSync } from 'node:fs';
import { poll } from '../../../src/lib/concurrency.ts';
import { codeOf } from '../../backends/local/files.ts';
import { listListening } from '../targets/listening.ts';
import { listProcesses, orGone, readText, socketsOf } from '../targets/proc.ts';

/**
 * True while a thread runs of a process that has a configuration among its arguments. They are not shown of one whose first thread
 * has ended, as after a kill that another one outlives in the middle of a write, but of that other.
 */
export function isOf(pid: number, config: string): boolean {
  const isIn = (line = ''): boolean => line.split('\0').includes(config);
  const line = readText(`/proc/${pid}/cmdline`);
  if (line !== '') return isIn(line);
  const tasks = `/proc/${pid}/task`;
  const threads = orGone(() => readdirSync(tasks)) ?? [];
  return threads.some(thread => isIn(readText(`${tasks}/${thread}/cmdline`)));
}

/**
 * Kills the server of a configuration, and the process of each of its connections; true once none of them can write any more,
 * and a look that came after all of that found no other.
 */
export async function endProcesses(
  config: string,
  patience: { readonly everyMs: number; readonly timeoutMs: number },
): Promise<boolean> {
  const killed = new Set<number>();
  const areGone = (): true | undefined => {
    const found = findProcesses(config);
    for (const pid of found) {
      kill(pid);
      killed.add(pid);
    }
    return (found.length === 0 && [...killed].every(hasEnded)) || undefined;
  };
  return (await poll(areGone, patience)) ?? false;
}

/** Those of a configuration, with what began while they were looked for: one that forks and ends meanwhile is followed. */
function findProcesses(config: string): readonly number[] {
  const first = listProcesses();
  const found = first.filter(pid => isOf(pid, config));
  const known = new Set(first);
  const later = listProcesses().filter(pid => !known.has(pid));
  return [...found, ...later.filter(pid => isOf(pid, config))];
}

/** A process loses its arguments before its last thread has done its last write, and before its port is free. */
function hasEnded(pid: number): boolean {
  const directory = `/proc/${pid}/task`;
  const threads = orGone(() => readdirSync(directory)) ?? [];
  const states = threads.map(thread => readText(`${directory}/${thread}/stat`));
  return states.every(text => text === undefined || /^.*\) [ZX] /s.test(text));
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

/** True while the process has a socket that takes connections. */
export function isListening(pid: number): boolean {
  const listening = new Set(listListening().map(({ socket }) => socket));
  return socketsOf(pid).some(one => listening.has(one));
}
