import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { zfsRoot } from '../../zfs/zfs.ts';
import { startMachine, type Machine } from '../machine.ts';

/** A request to a machine. */
export type Order = { readonly id: number; readonly name: string; readonly args: readonly unknown[] };

/** The outcome of an order. */
export type Answer = {
  readonly id: number;
  readonly value?: unknown;
  readonly fault?: { readonly code: string; readonly detail: string };
};

/** A machine or process that executes orders. */
export type Servant = {
  /** Resolves with the result of the work; rejects with its code and detail, or when the servant has ended. */
  ask<T = unknown>(name: string, ...args: readonly unknown[]): Promise<T>;
  /** Ends it at once and waits until it is gone. */
  end(): Promise<void>;
};

/** A box with images, with thin pools of LVM, or with datasets of ZFS. */
export type BoxRole = 'box' | 'thin-box' | 'zvol-box';

/** A box that exports directories, or filesystems of ZFS. */
export type ShareBoxRole = 'share-box' | 'zfs-share-box';

/** A machine that executes the orders of its role (`box.ts`, `peer.ts`). */
export type MachineServant = Servant & Pick<Machine, 'pause' | 'resume'>;

/** The program of a machine that executes orders; its argument is the role. */
export const servantOf: string = fileURLToPath(new URL('servant.ts', import.meta.url));

/**
 * Messages of a machine's shell about a Node.js that V8 ended at its start, which happens now and then on an emulated
 * processor.
 */
const crash = /^(Segmentation fault|Trace\/breakpoint trap|Illegal instruction)/m;

/** Opens machines in a directory of their own, cabled as a star around the box; all of them end with the test. */
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
    plan: Pick<Parameters<typeof startMachine>[0], 'cables' | 'disk' | 'network' | 'ports' | 'root'>,
  ) => {
    const command = [process.execPath, servantOf, role];
    const boot = () => {
      const machine = startMachine({ silentMs: 15 * 60_000, command, ...plan });
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
    /** Starts the machine in the middle, with a disk. */
    startBox: (disk: string, role: BoxRole | ShareBoxRole = 'box'): Promise<MachineServant> =>
      start(role, {
        disk,
        ...((role === 'zvol-box' || role === 'zfs-share-box') && { root: zfsRoot }),
        cables: all.map(peer => ({ own: end('box', peer), other: end('peer', peer) })),
      }),
    /** Starts a machine that is cabled only to the box; its number is 1 or more. */
    startPeer: (peer: number): Promise<MachineServant> =>
      start(String(peer), { cables: [{ own: end('peer', peer), other: end('box', peer) }] }),
    /** Starts a machine in a network that has the storage; `network` is the beginning of a command that runs there. */
    startNode: (number: number, network: readonly string[]): Promise<MachineServant> =>
      start(`network-n${number}`, { network }),
    /** Starts a node that also has the volumes of Cinder's LVM driver; the network reaches its target and its commands. */
    startVolumes: (network: readonly string[]): Promise<MachineServant> =>
      start('volumes-n1', { network, ports: [3260, 7000] }),
  };
}

/** The transport of orders and answers, line by line. */
type Port = Pick<Machine, 'lines' | 'say' | 'console' | 'end'>;

/** Resolves once the program that serves orders (`orders.ts`), in a machine or as a process, is ready. */
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
