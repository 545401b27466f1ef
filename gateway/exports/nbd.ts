import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { fieldKinds } from '../../src/api/attachment.ts';
import { unavailableProblem } from '../../src/api/problem.ts';
import { poll } from '../../src/lib/concurrency.ts';
import { exec } from '../../src/lib/exec.ts';
import type { Log } from '../../src/lib/log.ts';
import { commandProblem } from '../backends/local/files.ts';
import type { Export, ExportedAttachment, ExportPlugin } from '../export.ts';
import { endProcesses, isListening, isOf, readText } from './nbd/processes.ts';
import { createNames, type Names } from './targets/names.ts';
import { exportTargets, type TargetDriver } from './targets/targets.ts';

const host = z.string().regex(fieldKinds.host.pattern, `is ${fieldKinds.host.fault}`);
const port = z.int().min(1).max(fieldKinds.port.most);

const settings = z.strictObject({
  protocol: z.literal('nbd').describe('nbd-server, a process for each attachment'),
  address: host.describe('name or address of this machine that nodes are told'),
  listen: host.optional().describe('the address of this machine, where that is another'),
  ports: z
    .strictObject({ from: port, to: port })
    .refine(({ from, to }) => from <= to, '"to" is less than "from"')
    .prefault({ from: 10_810, to: 11_833 })
    .describe('each attachment has one of these'),
});
type Settings = z.output<typeof settings>;

const program = 'nbd-server';

/** How long a server may take to listen or to end, in milliseconds. */
const patience = { everyMs: 20, timeoutMs: 10_000 };

/**
 * Volumes by an nbd-server for each attachment, which outlives the gateway. The protocol has no authentication: whoever reaches
 * the port and knows the name of the attachment has the volume. A node sees a new size when it connects next.
 */
export const nbd: ExportPlugin<typeof settings> = {
  settings,
  async open(chosen, { root, log, poolKey }) {
    const names = createNames(await poolKey());
    return {
      ...exportNbd(chosen, { program, directory: join(root, '.nbd'), names, log }),
      check: () => findLacks(program, root),
    };
  },
};

/** What the export works with: the server's program, and the directory of the servers' configurations. */
export type NbdParts = {
  readonly program: string;
  readonly directory: string;
  readonly names: Names;
  readonly log: Log;
};

/** The export, whose servers' configurations are in a directory. */
export function exportNbd(
  chosen: Settings,
  { program: command, directory, names, log }: NbdParts,
): Omit<Required<Export>, 'check' | 'close'> {
  const servers = openServers(chosen, { program: command, directory });
  const driver: TargetDriver = {
    protocol: 'nbd',
    noun: 'nbd-server',
    async prepare() {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      log.warn('whoever knows the name of an attachment reaches its volume', {
        detail: 'NBD has no authentication',
      });
    },
    list: servers.list,
    make: servers.start,
    remove: servers.remove,
    reach: name => ({
      protocol: 'nbd',
      server: chosen.address,
      port: servers.portOf(name) ?? 0,
      export: name,
    }),
  };
  return exportTargets(driver, { names, log });
}

/** What this machine lacks for volumes below a directory, one line each. */
export async function findLacks(command: string, root: string): Promise<readonly string[]> {
  const { fault } = await exec(command, ['-V'], { timeoutMs: patience.timeoutMs });
  const lacks = fault === undefined ? [] : [`${program} is not installed`];
  return /[\\\n]/.test(root) ? [...lacks, `${program} takes no directory "${root}"`] : lacks;
}

/** Servers by the names of their targets: each is what its configuration says. */
function openServers(
  { address, listen = address, ports }: Settings,
  { program: command, directory }: Pick<NbdParts, 'program' | 'directory'>,
) {
  const configOf = (name: string): string => join(directory, name);
  const pidOf = (name: string): string => `${configOf(name)}.pid`;
  const list = (): readonly string[] => readdirSync(directory).filter(name => !name.endsWith('.pid'));
  /** The process that takes connections. */
  const serverOf = (name: string): number | undefined => {
    const pid = Number(readText(pidOf(name)));
    return isOf(pid, configOf(name)) ? pid : undefined;
  };
  const portOf = (name: string): number | undefined => {
    const number = /^port = (\d+)$/m.exec(readText(configOf(name)) ?? '')?.[1];
    return number === undefined ? undefined : Number(number);
  };
  const textOf = (name: string, { volume, access }: ExportedAttachment, number: number): string =>
    [
      ['[generic]', `listenaddr = ${listen}`, `port = ${number}`, 'allowlist = false'],
      [`[${name}]`, `exportname = ${volume.path}`, 'virtstyle = none', `readonly = ${access.readonly}`],
      ['flush = true', 'fua = true', 'trim = true', ''],
    ]
      .flat()
      .join('\n');

  /** Chosen and recorded in one step, so that no two have the same; `busy` are other programs'. */
  function record(name: string, target: ExportedAttachment, busy: ReadonlySet<number>): number {
    const taken = new Set([...busy, ...list().map(portOf)]);
    const count = ports.to - ports.from + 1;
    const free = Array.from({ length: count }, (_, index) => ports.from + index).find(one => !taken.has(one));
    if (free === undefined)
      throw unavailableProblem(
        `all ports from ${ports.from} to ${ports.to} are in use: give the export more`,
      );
    writeDurably(configOf(name), textOf(name, target, free));
    return free;
  }

  /**
   * True once the server listens, from when on connections wait for it, which reckons a second for TLS that it does not use;
   * false when it ended, as it does where another program has its port.
   */
  async function serve(name: string): Promise<boolean> {
    await rm(pidOf(name), { force: true });
    const args = ['-C', configOf(name), '-p', pidOf(name)];
    const result = await exec(command, args, { timeoutMs: patience.timeoutMs });
    if (result.status !== 0) throw commandProblem(program, 'export a volume', result);
    const look = () => {
      // It is written once the server is on its own, and before it listens.
      if (!readText(pidOf(name))) return undefined;
      const pid = serverOf(name);
      return pid === undefined ? 'ended' : isListening(pid) ? 'listens' : undefined;
    };
    return (await poll(look, patience)) === 'listens';
  }

  async function end(name: string): Promise<void> {
    if (!(await endProcesses(configOf(name), patience)))
      throw unavailableProblem(`nbd-server "${name}" does not end`);
  }

  /** Under its known port: that is where nodes look for it. */
  async function startAgain(name: string, target: ExportedAttachment, known: number): Promise<void> {
    const text = textOf(name, target, known);
    const isSame = readText(configOf(name)) === text;
    const running = serverOf(name);
    if (isSame && running !== undefined && isListening(running)) return;
    await end(name);
    if (!isSame) writeDurably(configOf(name), text);
    if (!(await serve(name)))
      throw unavailableProblem(`nbd-server cannot have port ${known} of ${listen}, by which nodes know it`);
  }

  return {
    list,
    portOf,
    async start(name: string, target: ExportedAttachment): Promise<void> {
      const known = portOf(name);
      if (known !== undefined) return startAgain(name, target, known);
      const busy = new Set<number>();
      for (;;) {
        const number = record(name, target, busy);
        if (await serve(name)) return;
        busy.add(number);
      }
    },
    /** The record goes last: what it names is ended first. */
    async remove(name: string): Promise<void> {
      await end(name);
      for (const path of [pidOf(name), configOf(name)]) await rm(path, { force: true });
    },
  };
}

function writeDurably(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600, flush: true });
  const directory = openSync(join(path, '..'), 'r');
  fsyncSync(directory);
  closeSync(directory);
}
