import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startDev } from '../harness/dev.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';
import type { Bench, Figure } from './figure.ts';
import { createVolume, prepareVolume, runCycle } from './node-cycle.ts';

const rounds = [1_000, 5_000, 10_000];
const settleMs = 2_000;
const emptyGrpc = fileURLToPath(new URL('floors/empty-grpc.ts', import.meta.url));

/** How much memory the node agent keeps. */
export const memoryBench: Bench = {
  name: 'memory',
  doc: `resident memory of the node agent, idle and after ${rounds.join(', ')} stage-publish-unpublish-unstage cycles, beside an empty grpc-js server`,
  run: measureMemory,
};

async function measureMemory(): Promise<readonly Figure[]> {
  const dir = makeTemporaryDirectory();
  // Once to fill its compile cache, so that the floor does not hold the type stripper either.
  const first = await startEmpty(dir, 'first');
  first.disconnect();
  await once(first, 'exit');
  const empty = await startEmpty(dir, 'second');
  const dev = await startDev({ dir: join(dir, 'dev') });
  try {
    const agent = childOf(dev.pid, 'node');
    await new Promise(resolve => setTimeout(resolve, settleMs));
    const floor = readMemory(empty.pid ?? 0);
    const idle = readMemory(agent);
    const volume = await createVolume(dev, { dir, name: 'memory', fs: 'ext4' });
    await prepareVolume(volume);
    const name = 'an empty grpc-js server';
    const figures: Figure[] = [
      {
        name: 'node agent idle, resident',
        value: idle.rss,
        unit: 'MB',
        floor: { name, value: floor.rss },
        target: '≤ 64 MB',
      },
      {
        name: 'node agent idle, private',
        value: idle.private,
        unit: 'MB',
        floor: { name, value: floor.private },
        target: '≤ 24 MB',
      },
    ];
    let done = 0;
    for (const cycles of rounds) {
      for (; done < cycles; done++) await runCycle(volume);
      await new Promise(resolve => setTimeout(resolve, settleMs));
      const after = readMemory(agent);
      figures.push({
        name: `after ${cycles} cycles, resident`,
        value: after.rss,
        unit: 'MB',
        floor: { name, value: floor.rss },
        target: '≤ 75 MB, flat',
      });
      figures.push({
        name: `after ${cycles} cycles, private`,
        value: after.private,
        unit: 'MB',
        floor: { name, value: floor.private },
      });
    }
    await volume.remove();
    return figures;
  } finally {
    empty.disconnect();
    await dev.end();
    removeTemporaryDirectory(dir);
  }
}

async function startEmpty(dir: string, name: string): Promise<ChildProcess> {
  const child = fork(emptyGrpc, [join(dir, `${name}.sock`)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, NODE_COMPILE_CACHE: join(dir, 'cache') },
  });
  await once(child, 'message');
  return child;
}

/** The process of one of our programs that `pid` started. */
export function childOf(pid: number, program: string): number {
  const found = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .find(name => {
      const status = readIfThere(`/proc/${name}/status`);
      const argv = readIfThere(`/proc/${name}/cmdline`).split('\0');
      return new RegExp(`^PPid:\\t${pid}$`, 'm').test(status) && argv.includes(program);
    });
  if (found === undefined) throw new Error(`process ${pid} has no child that runs ${program}`);
  return Number(found);
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Memory of a process in megabytes: resident, and anonymous of its own. */
export function readMemory(pid: number): { readonly rss: number; readonly private: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const megabytes = (field: string): number =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) / 1024;
  return { rss: megabytes('Rss'), private: megabytes('Pss_Anon') };
}
