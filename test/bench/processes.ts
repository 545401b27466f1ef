import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pause } from '../../src/lib/concurrency.ts';
import type { CleanupScope } from '../harness/temporary.ts';
import { median } from '../harness/values.ts';

const settleMs = 2_000;

/** A clock tick of /proc in milliseconds, the same on every Linux that Node.js supports. */
const tickMs = 10;

/** Finds the process of one of our programs that `pid` started; throws if there is none. */
export function childOf(pid: number, program: string): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  const isProgram = (child: string): boolean =>
    readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0').includes(program);
  const found = children.find(isProgram);
  if (found === undefined) throw new Error(`process ${pid} has no child that runs "${program}"`);
  return Number(found);
}

/** Reads a process's resident memory in megabytes, after a pause in which its garbage is collected. */
export async function readSettled(pid: number): Promise<number> {
  await pause(settleMs);
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Rss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1024;
}

/** Reads the user and system time of a process and of its children that have ended, in milliseconds. */
export function readCpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * tickMs;
}

/** Starts a program of floors/, which ends with the scope; returns its process and its ready message. */
export async function startFloor(t: CleanupScope, file: string, ...argv: readonly string[]) {
  const child = fork(join(import.meta.dirname, 'floors', file), [...argv], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  t.after(() => child.disconnect());
  const [ready] = (await once(child, 'message')) as [{ readonly port: number }];
  return { pid: child.pid ?? 0, ready };
}

const warmUpRounds = 4;
const rounds = 12;

/** The number of rounds of a measurement, with its warm-up. */
export const allRounds = warmUpRounds + rounds;

/** Work in these processes, which is repeated with another index each time. */
export type Work = { readonly pids: readonly number[]; readonly run: (index: number) => Promise<unknown> };

/** The mean CPU time of one run of a work, and its median time on the clock, in milliseconds. */
type Cost = { readonly cpuMs: number; readonly ms: number };

/** Measures the cost of both works after a warm-up; alternates them, so that noise affects both. */
export async function measureAlternately(
  works: readonly [Work, Work],
  { perRound, concurrency }: { readonly perRound: number; readonly concurrency: number },
): Promise<readonly [Cost, Cost]> {
  const samples: [Cost[], Cost[]] = [[], []];
  for (let round = 0; round < allRounds; round++)
    for (const [which, { pids, run }] of works.entries()) {
      const readAll = (): number => pids.reduce((sum, pid) => sum + readCpuMs(pid), 0);
      const [beforeMs, startMs] = [readAll(), performance.now()];
      await forEach({ from: round * perRound, to: (round + 1) * perRound, concurrency }, run);
      const ms = (performance.now() - startMs) / perRound;
      if (round >= warmUpRounds) samples[which]?.push({ cpuMs: (readAll() - beforeMs) / perRound, ms });
    }
  return [summarize(samples[0]), summarize(samples[1])];
}

function summarize(samples: readonly Cost[]): Cost {
  const cpuMs = samples.reduce((sum, one) => sum + one.cpuMs, 0) / samples.length;
  return { cpuMs, ms: median(samples.map(({ ms }) => ms)) };
}

/** A range of volumes' indexes, and the number that are processed at a time. */
type Range = { readonly from: number; readonly to: number; readonly concurrency: number };

/** Runs `work` for each index. */
export async function forEach(
  { from, to, concurrency }: Range,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = from;
  const worker = async (): Promise<void> => {
    while (next < to) await work(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
