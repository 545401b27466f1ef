import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { poll } from '../../../../src/lib/concurrency.ts';

/** The time that the driver gets to begin its work, in milliseconds. */
const beginningMs = 1_500;

type Found = { readonly pid: number; readonly parent: number };

/** Kills the process in which Cinder's driver works. Its parent process starts the next one, in about a second. */
export async function killDriver(): Promise<void> {
  const pid = await poll(findDriver, { everyMs: 100, timeoutMs: 60_000 });
  assert.ok(pid, 'Cinder has no driver');
  process.kill(pid, 'SIGKILL');
}

function findDriver(): number | undefined {
  const all = processesOf('cinder-volume');
  const parents = new Set(all.map(({ pid }) => pid));
  return all.find(({ parent }) => parents.has(parent))?.pid;
}

/** Stops the storage, so that the driver cannot complete the work that it begins, and kills the driver. */
export async function killBusyDriver(): Promise<void> {
  const storage = ['ceph-mon', 'ceph-osd'].flatMap(processesOf);
  assert.equal(storage.length, 2);
  for (const { pid } of storage) process.kill(pid, 'SIGSTOP');
  try {
    await sleep(beginningMs);
    await killDriver();
  } finally {
    for (const { pid } of storage) process.kill(pid, 'SIGCONT');
  }
}

/** Finds the processes of a program in this network, which need not be in this namespace of processes. */
function processesOf(program: string): readonly Found[] {
  const network = readlinkSync('/proc/self/ns/net');
  return readdirSync('/proc').flatMap(entry => {
    try {
      const [, name, parent] =
        /^\d+ \((.*)\) \S+ (\d+)/.exec(readFileSync(`/proc/${entry}/stat`, 'utf8')) ?? [];
      const isOurs = name === program && readlinkSync(`/proc/${entry}/ns/net`) === network;
      return isOurs ? [{ pid: Number(entry), parent: Number(parent) }] : [];
    } catch {
      // It is no process, or the process has ended.
      return [];
    }
  });
}
