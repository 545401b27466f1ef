import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { createKeyedQueue, poll } from '../../../src/lib/concurrency.ts';
import { exec } from '../../../src/lib/exec.ts';
import { codeOf, commandProblem, replaceFile } from '../../backends/local/files.ts';
import type { ExportedAttachment } from '../../export.ts';
import { readText } from '../targets/proc.ts';
import { endProcesses, isListening, isOf } from './processes.ts';

/** Where servers listen. */
export type Place = {
  readonly listen: string;
  readonly ports: { readonly from: number; readonly to: number };
};

/** The server's program, and the directory of the servers' configurations. */
export type ServerParts = { readonly program: string; readonly directory: string };

/** How long a server may take to listen or to end, in milliseconds. */
const patience = { everyMs: 20, timeoutMs: 10_000 };

/** First in the configuration of a server whose port was told to no node yet. */
const untold = '# not served yet\n';

/** Servers by the names of their targets: each is what its configuration says. */
export function openServers({ listen, ports }: Place, { program, directory }: ServerParts) {
  const inTurn = createKeyedQueue();
  const configOf = (name: string): string => join(directory, name);
  const pidOf = (name: string): string => `${configOf(name)}.pid`;
  /** All that is there of one, a file that was not finished included. */
  const list = (): readonly string[] => [
    ...new Set(readdirSync(directory).map(name => name.replace(/\.(pid|new)$/, ''))),
  ];
  const configured = (name: string): string => readText(configOf(name)) ?? '';
  /** The process that takes connections. */
  const serverOf = (name: string): number | undefined => {
    const pid = Number(readText(pidOf(name)));
    return isOf(pid, configOf(name)) ? pid : undefined;
  };
  const portOf = (name: string): number | undefined => {
    const number = /^port = (\d+)$/m.exec(configured(name))?.[1];
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

  /** Chosen and recorded in turn, so that no two have the same; `busy` are other programs'. */
  async function record(
    name: string,
    target: ExportedAttachment,
    busy: ReadonlySet<number>,
  ): Promise<number> {
    const others = list().filter(one => one !== name);
    const taken = new Set([...busy, ...others.map(portOf)]);
    const count = ports.to - ports.from + 1;
    const free = Array.from({ length: count }, (_, index) => ports.from + index).find(one => !taken.has(one));
    if (free === undefined)
      throw unavailableProblem(
        `all ports from ${ports.from} to ${ports.to} are in use: give the export more`,
      );
    await replaceFile(configOf(name), untold + textOf(name, target, free));
    return free;
  }

  /**
   * True once the server listens, from when on connections wait for it: it first seeks a random prime for TLS that it does not
   * use, mostly for less than half a second, and for up to half a minute on an emulated processor. False when it ended, as it
   * does where another program has its port.
   */
  async function serve(name: string): Promise<boolean> {
    await rm(pidOf(name), { force: true });
    const args = ['-C', configOf(name), '-p', pidOf(name)];
    const result = await exec(program, args, { timeoutMs: patience.timeoutMs });
    if (result.status !== 0) throw commandProblem('nbd-server', 'export a volume', result);
    const look = () => {
      // It is written once the server is on its own, and before it listens.
      if (!readText(pidOf(name))) return undefined;
      const pid = serverOf(name);
      return pid === undefined ? 'ended' : isListening(pid) ? 'listens' : undefined;
    };
    return (await poll(look, patience)) === 'listens';
  }

  /** By the first port that no other program has. Nodes are told it once it is recorded that it serves. */
  async function startNew(name: string, target: ExportedAttachment): Promise<void> {
    // What an earlier start left was told to nobody.
    await end(name);
    const busy = new Set<number>();
    for (;;) {
      const number = await inTurn('ports', () => record(name, target, busy));
      if (await serve(name)) return replaceFile(configOf(name), textOf(name, target, number));
      const fault = await findBindFault(listen, number);
      if (fault !== 'EADDRINUSE')
        throw unavailableProblem(
          `nbd-server does not listen on port ${number}${fault ? `: ${lackOf(listen, fault)}` : ''}`,
        );
      busy.add(number);
    }
  }

  /** Under its known port: that is where nodes look for it. */
  async function startAgain(name: string, target: ExportedAttachment, known: number): Promise<void> {
    const text = textOf(name, target, known);
    const isSame = configured(name) === text;
    const running = serverOf(name);
    if (isSame && running !== undefined && isListening(running)) return;
    await end(name);
    if (!isSame) await replaceFile(configOf(name), text);
    if (!(await serve(name)))
      throw unavailableProblem(`nbd-server cannot have port ${known} of ${listen}, by which nodes know it`);
  }

  async function end(name: string): Promise<void> {
    if (!(await endProcesses(configOf(name), patience)))
      throw unavailableProblem(`nbd-server "${name}" does not end`);
  }

  return {
    list,
    portOf,
    prepare: () => mkdirSync(directory, { recursive: true, mode: 0o700 }),
    start(name: string, target: ExportedAttachment): Promise<void> {
      const known = configured(name).startsWith(untold) ? undefined : portOf(name);
      return known === undefined ? startNew(name, target) : startAgain(name, target, known);
    },
    /** The record goes last: what it names is ended first. */
    async remove(name: string): Promise<void> {
      await end(name);
      for (const path of [pidOf(name), `${configOf(name)}.new`, configOf(name)])
        await rm(path, { force: true });
    },
  };
}

/** What this machine lacks for servers of volumes below a directory, one line each. */
export async function findLacks(
  program: string,
  { root, listen }: { readonly root: string; readonly listen: string },
): Promise<readonly string[]> {
  const { fault } = await exec(program, ['-V'], { timeoutMs: patience.timeoutMs });
  const unbound = await findBindFault(listen, 0);
  return [
    ...(fault === undefined ? [] : ['nbd-server is not installed']),
    ...(/[\\\n]/.test(root) ? [`nbd-server takes no directory "${root}"`] : []),
    ...(unbound === undefined ? [] : [lackOf(listen, unbound)]),
  ];
}

/** The system's code of why nobody can listen there now; port 0 is any. */
async function findBindFault(host: string, port: number): Promise<string | undefined> {
  await using server = createServer();
  return await once(server.listen(port, host), 'listening').then(() => undefined, codeOf);
}

function lackOf(listen: string, fault: string): string {
  return fault === 'EADDRNOTAVAIL'
    ? `no interface of this machine has the address ${listen}`
    : `no program can listen at ${listen} (${fault})`;
}
