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

/** What does what it is asked to. */
export type Servant = {
  /** Resolves with what the work gives; rejects with its code and detail, or when the servant has ended. */
  ask<T = unknown>(name: string, ...args: readonly unknown[]): Promise<T>;
  /** Ends it at once, and waits until it is gone. */
  end(): Promise<void>;
};

/** A machine that does what its role knows (`box.ts`, `peer.ts`). */
export type MachineServant = Servant & Pick<Machine, 'pause' | 'resume'>;

/** The program of a machine that does what it is asked to, as the role says that is its argument. */
export const servantOf: string = fileURLToPath(new URL('servant.ts', import.meta.url));

/** What a machine's shell says of a Node.js that V8 ended at its start, which it does now and then on an emulated processor. */
const crash = /^(Segmentation fault|Trace\/breakpoint trap|Illegal instruction)/m;

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
  const start = async (
    role: string,
    plan: Pick<Parameters<typeof startMachine>[0], 'cables' | 'disk' | 'network'>,
  ) => {
    const command = [process.execPath, servantOf, role];
    const boot = () => {
      const machine = startMachine({ silentMs: 5 * 60_000, command, ...plan });
      machines.add(machine);
      return serveBy(machine).catch(async (error: unknown) => {
        await machine.end();
        throw error;
      });
    };
    return boot().catch((error: unknown) => {
      if (!crash.test(String(error))) throw error;
      return boot();
    });
  };
  return {
    directory,
    /** The machine in the middle, with a disk. */
    startBox: (disk: string): Promise<MachineServant> =>
      start('box', {
        disk,
        cables: all.map(peer => ({ own: end('box', peer), other: end('peer', peer) })),
      }),
    /** A machine that is cabled to the box alone; its number begins at 1. */
    startPeer: (peer: number): Promise<MachineServant> =>
      start(String(peer), { cables: [{ own: end('peer', peer), other: end('box', peer) }] }),
    /** A machine that reaches a network, in which the rest is; by the beginning of a command that runs there. */
    startNode: (number: number, network: readonly string[]): Promise<MachineServant> =>
      start(`network-n${number}`, { network }),
  };
}

/** How orders and answers go, line by line. */
type Port = Pick<Machine, 'lines' | 'say' | 'console' | 'end'>;

/** Resolves once what serves orders (`orders.ts`), in a machine or as a process, does what it is asked to. */
export async function serveBy<One extends Port>(machine: One): Promise<One & Servant> {
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
  return {
    ...machine,
    async ask<T>(name: string, ...args: readonly unknown[]): Promise<T> {
      if (isOver) throw new Error(`the machine has ended:\n${machine.console()}`);
      const answer = Promise.withResolvers<unknown>();
      waiting.set(++count, answer);
      machine.say(JSON.stringify({ id: count, name, args } satisfies Order));
      return answer.promise as Promise<T>;
    },
  };
}
