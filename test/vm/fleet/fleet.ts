import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startMachine, type Machine } from '../machine.ts';

/** What a machine is asked to do. */
export type Order = { readonly id: number; readonly name: string; readonly args: readonly unknown[] };

/** What came of it. */
export type Answer = {
  readonly id: number;
  readonly value?: unknown;
  readonly fault?: { readonly code: string; readonly detail: string };
};

/** A machine that does what it is asked to, as its role knows (`box.ts`, `peer.ts`). */
export type Servant = Pick<Machine, 'pause' | 'resume' | 'end' | 'console'> & {
  /** Resolves with what the work gives; rejects with its code and detail, or when the machine has ended. */
  ask<T = unknown>(name: string, ...args: readonly unknown[]): Promise<T>;
};

const servant = fileURLToPath(new URL('servant.ts', import.meta.url));

/** Machines in a directory of theirs, cabled as a star around the box; all of them end with the test. */
export function openFleet(t: TestContext, peers: number) {
  const directory = mkdtempSync(join(tmpdir(), 'fleet-'));
  const machines = new Set<Machine>();
  t.after(async () => {
    await Promise.all([...machines].map(machine => machine.end()));
    rmSync(directory, { recursive: true, force: true });
  });
  const end = (name: string, peer: number): string => join(directory, `${name}${peer}`);
  const all = Array.from({ length: peers }, (_, index) => index + 1);
  const start = async (role: string, plan: Pick<Parameters<typeof startMachine>[0], 'cables' | 'disk'>) => {
    const command = [process.execPath, servant, role];
    const machine = startMachine({ silentMs: 5 * 60_000, command, ...plan });
    machines.add(machine);
    return serveBy(machine);
  };
  return {
    directory,
    /** The machine in the middle, with a disk. */
    startBox: (disk: string): Promise<Servant> =>
      start('box', { disk, cables: all.map(peer => ({ own: end('box', peer), other: end('peer', peer) })) }),
    /** A machine that is cabled to the box alone; its number begins at 1. */
    startPeer: (peer: number): Promise<Servant> =>
      start(String(peer), { cables: [{ own: end('peer', peer), other: end('box', peer) }] }),
  };
}

async function serveBy(machine: Machine): Promise<Servant> {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const ready = Promise.withResolvers<void>();
  let count = 0;
  let isOver = false;
  const listen = async (): Promise<void> => {
    for await (const line of machine.lines) {
      const said = JSON.parse(line) as Answer | 'alive' | 'ready';
      if (said === 'ready') ready.resolve();
      if (typeof said === 'string') continue;
      const { id, value, fault } = said;
      if (fault) waiting.get(id)?.reject(Object.assign(new Error(fault.detail), { code: fault.code }));
      else waiting.get(id)?.resolve(value);
      waiting.delete(id);
    }
    isOver = true;
    const gone = new Error(`the machine has ended:\n${machine.console()}`);
    ready.reject(gone);
    for (const { reject } of waiting.values()) reject(gone);
  };
  void listen();
  await ready.promise;
  const { pause, resume, end, console } = machine;
  return {
    pause,
    resume,
    end,
    console,
    async ask<T>(name: string, ...args: readonly unknown[]): Promise<T> {
      if (isOver) throw new Error(`the machine has ended:\n${machine.console()}`);
      const answer = Promise.withResolvers<unknown>();
      waiting.set(++count, answer);
      machine.say(JSON.stringify({ id: count, name, args } satisfies Order));
      return answer.promise as Promise<T>;
    },
  };
}
